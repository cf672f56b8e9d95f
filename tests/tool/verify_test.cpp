// diecast verify: whose exit code it is, and what programs read.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/checkpoint_files.h"
#include "tool/run_tool.h"

namespace diecast::testing {
namespace {

// A folder in compressed-tensors' MXFP8, which vLLM reads and SGLang does not.
void write_folder(const std::string& folder, bool with_scales) {
  TestFile file;
  file.metadata["format"] = "pt";
  const std::string up = "model.layers.0.mlp.up_proj.weight";
  file.tensors[up] = {"F8_E4M3", {2, 32}, std::string(64, '\0')};
  if (with_scales) file.tensors[up + "_scale"] = {"U8", {2, 1}, std::string(2, 127)};
  std::filesystem::create_directories(folder);
  write_text(folder + "/model.safetensors", encode(file));
  write_text(folder + "/config.json",
             R"({"quantization_config": {
    "quant_method": "compressed-tensors", "format": "mxfp8-quantized",
    "config_groups": {"all": {"targets": ["Linear"], "weights": {"num_bits": 8}}}}})");
}

// Each with the version whose rules are meant.
nlohmann::json verdicts(const nlohmann::json& vllm, const nlohmann::json& sglang) {
  return {{"vllm", {{"version", "0.32"}, {"loads", vllm}}},
          {"sglang", {{"version", "0.5.23"}, {"loads", sglang}}}};
}

TEST(ToolVerify, SaysWhichEnginesLoadAFolder) {
  ToolRun diecast;
  const std::string good = diecast.folder / "good", bad = diecast.folder / "bad";
  write_folder(good, true);
  write_folder(bad, false);
  EXPECT_EQ(diecast({"verify", good}).exit_code, 1) << "both decide";
  EXPECT_EQ(diecast({"verify", good, "--for", "sglang"}).exit_code, 1);
  const auto run = diecast({"verify", good, "--for", "vllm", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  const auto report = nlohmann::json::parse(run.output);
  EXPECT_EQ(report["engines"], verdicts(true, false));
  EXPECT_EQ(report["quantized"], 1);
  EXPECT_EQ(report["faults"].size(), 1u);
  const auto told = diecast({"verify", bad, "--for", "vllm"});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_NE(told.output.find("has no \"model.layers.0.mlp.up_proj.weight_scale\""),
            std::string::npos)
      << told.output;
  EXPECT_NE(told.output.find("\n  fix: quantize the model again\n"), std::string::npos);
  EXPECT_NE(told.output.find("vLLM 0.32: no\n"), std::string::npos);
}

// compressed-tensors' FP8: vLLM's rules are known, SGLang's are not.
TEST(ToolVerify, SaysOfWhichEngineNothingIsKnown) {
  ToolRun diecast;
  const std::string folder = diecast.folder / "fp8", up = "model.layers.0.mlp.up_proj.weight";
  TestFile file;
  file.metadata["format"] = "pt";
  file.tensors[up] = {"F8_E4M3", {2, 32}, std::string(64, '8')};
  file.tensors[up + "_scale"] = floats({}, {0.5f});
  std::filesystem::create_directories(folder);
  write_text(folder + "/model.safetensors", encode(file));
  write_text(folder + "/config.json", R"({"quantization_config": {
    "quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"all": {
      "targets": ["Linear"],
      "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}}}}})");
  const auto run = diecast({"verify", folder, "--for", "vllm", "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(nlohmann::json::parse(run.output)["engines"], verdicts(true, nullptr));
  const auto told = diecast({"verify", folder, "--for", "sglang"});
  EXPECT_EQ(told.exit_code, 1) << "nobody knows that it loads";
  EXPECT_NE(told.output.find("vLLM 0.32: no rule is broken\nSGLang 0.5.23: not known\n"),
            std::string::npos)
      << told.output;
}

}  // namespace
}  // namespace diecast::testing
