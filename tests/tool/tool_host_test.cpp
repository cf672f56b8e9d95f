// The command on this processor: vectors replayed, a checkpoint there and back again.
#include <diecast/base/npy.h>
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "tool/run_tool.h"
#include "tool/small_checkpoint.h"

namespace diecast {
namespace {

using testing::host_works;
using testing::kSource;
using testing::text_of;
using testing::ToolRun;

TEST(ToolOnHost, ReplaysTheVectorsOfTransformerEngine) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  diecast.set("DIECAST_CACHE", DIECAST_BUILD_DIR "/test-cache");  // others need its kernels too
  const auto run = diecast(
      {"check", "--target", "host", "--json", kSource + "/tests/golden/nvfp4_te.safetensors"});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
  const auto report = nlohmann::json::parse(run.output).at(0);
  EXPECT_EQ(report.at("failed"), 0);
  EXPECT_GE(report.at("passed"), 100);
}

// Of two cases one with a wrong byte, and one that is no checkpoint's.
TEST(ToolOnHost, TellsProgramsWhatFailedAndWhatWasSkipped) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  testing::TestFile file =
      testing::decode(text_of(kSource + "/tests/golden/nvfp4_torchao.safetensors"));
  auto cases = nlohmann::json::parse(file.metadata.at("cases"));
  cases = {cases.at(0), cases.at(1)};
  cases[1]["shape"] = {16, 63};
  file.metadata["cases"] = cases.dump();
  std::erase_if(file.tensors, [](const auto& tensor) {
    return !tensor.first.starts_with("c000/") && !tensor.first.starts_with("c001/");
  });
  testing::TestTensor& x = file.tensors.at("c001/x");
  x.shape = {16, 63};
  x.bytes.resize(16 * 63 * 2);  // bf16
  const auto expected = static_cast<std::uint8_t>(file.tensors.at("c000/data").bytes[0] ^= 1);
  const std::string path = diecast.folder / "vectors.safetensors";
  testing::write_text(path, testing::encode(file));
  const auto run = diecast({"check", "--target", "host", "--json", path});
  EXPECT_EQ(run.exit_code, 1) << run.output << run.errors;
  const auto report = nlohmann::json::parse(run.output).at(0);
  EXPECT_EQ(report.at("failed"), 1);
  EXPECT_EQ(report.at("failures").at(0).at("case"), "c000");
  EXPECT_EQ(report.at("failures").at(0).at("differing"), 1);
  EXPECT_EQ(report.at("failures").at(0).at("first").at(0),
            nlohmann::json(
                {{"tensor", "data"}, {"index", 0}, {"expected", expected}, {"got", expected ^ 1}}));
  EXPECT_EQ(report.at("skipped"), 1);
  EXPECT_EQ(report.at("skips"), nlohmann::json::parse(R"([{"case": "c001", "reason":
              "rows that end within a block are not part of a checkpoint"}])"));
}

// Pruned rows under a profile that divides 0 by 0: told, and no success unless allowed.
TEST(ToolOnHost, SaysWhichFiniteWeightsAProfileMakesNaN) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  testing::TestFile file;
  file.tensors["l.0.pruned.weight"] = {"BF16", {16, 32}, std::string(16 * 32 * 2, '\0')};
  const std::string in = diecast.folder / "in.safetensors",
                    out = diecast.folder / "out.safetensors";
  testing::write_text(in, testing::encode(file));
  const auto quantize = [&](std::vector<std::string> options) {
    std::vector<std::string> words = {"quantize", in, out, "--target", "host"};
    words.insert(words.end(), options.begin(), options.end());
    return diecast(words);
  };
  EXPECT_EQ(quantize({"--strict"}).exit_code, 0);
  std::filesystem::remove(out);
  for (const std::string& rows : {std::string("--json"), std::string("--row-scale")}) {
    const auto strict = quantize({"--profile", "torchao", rows});
    EXPECT_EQ(strict.exit_code, 1);
    EXPECT_NE(
        strict.errors.find("nonfinite_values: tensor \"l.0.pruned.weight\" is finite, and profile "
                           "torchao makes 32 of its blocks NaN"),
        std::string::npos)
        << strict.errors;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  const auto told = quantize({"--profile", "torchao", "--allow-nonfinite"});
  EXPECT_EQ(told.exit_code, 0) << told.errors;
  EXPECT_NE(
      told.output.find("note: \"l.0.pruned.weight\" is finite, and 32 of its blocks are NaN now"),
      std::string::npos)
      << told.output;
}

// The plan and its notes stand in the report, as they do in the text.
TEST(ToolOnHost, QuantizeReportsToProgramsWhatItTellsUsers) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  testing::TestFile file;
  const auto add = [&](const std::string& name, std::uint64_t cols) {
    file.tensors[name] = {"F32", {2, cols}, std::string(8 * cols, '\0')};
  };
  add("l.0.m.gate_proj.weight", 16);
  add("l.0.m.up_proj.weight", 16);
  add("l.0.m.q_proj.weight", 16);
  add("l.0.odd.weight", 15);
  const std::string in = diecast.folder / "in.safetensors", out = diecast.folder / "out";
  testing::write_text(in, testing::encode(file));
  const auto run = diecast({"quantize", in, out, "--target", "host", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  auto report = nlohmann::json::parse(run.output);
  const auto plan = nlohmann::json::parse(diecast({"quantize", in, "--dry-run", "--json"}).output);
  EXPECT_EQ(plan.at("notes"), nlohmann::json::parse(R"([
      "\"l.0.odd.weight\" is copied: the last dimension 15 is no multiple of 16"])"));
  EXPECT_EQ(plan.at("scope"),
            "every numbered layer, \"l.*\": no token embedding tells those of a language model");
  EXPECT_EQ(plan.at("tensors").at(2).at("name"), "l.0.m.up_proj.weight");
  EXPECT_EQ(plan.at("tensors").at(2).at("amax_with"), "l.0.m.gate_proj.weight");
  for (const char* part : {"tensors", "notes", "scope"}) EXPECT_EQ(report.at(part), plan.at(part));
  EXPECT_EQ(report.at("quantized"), 3);
  EXPECT_EQ(report.at("copied"), 1);
}

TEST(ToolOnHost, QuantizesAndComesBack) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const std::string in = diecast.folder / "in.safetensors", q = diecast.folder / "q.safetensors";
  const std::string back = diecast.folder / "back.safetensors";
  testing::write_small_checkpoint(in);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, std::vector<std::string>{"--row-scale"},
        std::vector<std::string>{"--profile", "pr546"},
        std::vector<std::string>{"--profile", "modelopt", "--e4m3-bound", "256"},
        std::vector<std::string>{"--profile", "torchao", "--row-scale"},
        std::vector<std::string>{"--profile", "te_ref"},
        std::vector<std::string>{"--four-over-six", "mse", "--e4m3-bound", "256"}}) {
    std::vector<std::string> arguments = {"quantize", in, q, "--target", "host", "--overwrite"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto quantized = diecast(arguments);
    EXPECT_EQ(quantized.exit_code, 0) << quantized.errors;
    EXPECT_NE(quantized.output.find("on this processor"), std::string::npos) << quantized.output;
    EXPECT_EQ(diecast({"dequantize", q, back, "--target", "host", "--overwrite"}).exit_code, 0);
    const auto compared = nlohmann::json::parse(diecast({"compare", in, back, "--json"}).output);
    EXPECT_GT(compared.at("total").at("decibels").get<double>(), 15.0);
    for (const auto& tensor : compared.at("tensors")) {
      if (tensor.at("name") == "l.0.n.norm.weight") {
        EXPECT_EQ(tensor.at("identical"), true);
      }
    }
  }
  EXPECT_EQ(diecast({"compare", in, in}).output.find("identical") != std::string::npos, true);
}

// gate_proj and up_proj, which share an amax, in two files: the bits that one file of both has.
TEST(ToolOnHost, AFolderOfSeveralFilesGoesThereAndBack) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  diecast.set("DIECAST_CACHE", DIECAST_BUILD_DIR "/test-cache");
  const std::string in = diecast.folder / "in", out = diecast.folder / "out",
                    back = diecast.folder / "back", one = diecast.folder / "one.safetensors";
  std::filesystem::create_directory(in);
  testing::TestFile all;
  std::string map;
  for (const char* name : {"gate_proj", "up_proj"}) {
    const std::string tensor = std::string("layers.0.mlp.") + name + ".weight";
    testing::TestFile file;
    file.tensors[tensor] = testing::random_tensor("BF16", {16, 32}, all.tensors.size());
    all.tensors.merge(testing::TestFile(file).tensors);
    testing::write_text(in + "/" + name + ".safetensors", testing::encode(file));
    map += (map.empty() ? "\"" : ",\"") + tensor + "\":\"" + name + ".safetensors\"";
  }
  testing::write_text(in + "/model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  testing::write_text(one, testing::encode(all));
  for (const auto& [from, to] : {std::pair(in, out), std::pair(one, diecast.folder / "q")}) {
    const auto run = diecast({"quantize", from, to, "--target", "host"});
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    EXPECT_NE(run.output.find("2 tensors quantized, 0 copied"), std::string::npos) << run.output;
    // Of a folder it says whether engines load it; this one has no config.
    EXPECT_EQ(run.output.find("\nvLLM 0.32: no\n") != std::string::npos, to == out) << run.output;
  }
  const auto alone = testing::decode(text_of(diecast.folder / "q"));
  for (const char* name : {"gate_proj", "up_proj"}) {
    for (const auto& [tensor, want] :
         testing::decode(text_of(out + "/" + name + ".safetensors")).tensors)
      EXPECT_TRUE(alone.tensors.at(tensor) == want) << tensor;
  }
  EXPECT_EQ(diecast({"dequantize", out, back, "--target", "host"}).exit_code, 0);
  const auto apart = diecast({"compare", in, back + "/model.safetensors.index.json"});
  EXPECT_EQ(apart.exit_code, 0) << apart.errors;
  EXPECT_NE(apart.output.find("all values: largest error "), std::string::npos) << apart.output;
  const auto again = diecast({"quantize", in, out, "--target", "host"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(again.errors.find("diecast: file_exists: the output "), 0u) << again.errors;
  const auto over = diecast({"quantize", in, out, "--target", "host", "--overwrite"});
  EXPECT_EQ(over.exit_code, 0) << over.errors;
}

// The template and the commands of templates/README.md, but for the one that wants a GPU.
TEST(ToolOnHost, TheCommandsOfTheTemplatesPageWorkOnItsTemplate) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const std::string page = text_of(kSource + "/templates/README.md"), own = "scale_rows.cu";
  const std::size_t begin = page.find("```\n// scale_rows") + 4, end = page.find("```", begin);
  testing::write_text(diecast.folder / own, page.substr(begin, end - begin));
  const std::int64_t shape[] = {64, 100};
  const Bytes header = npy_header("<u2", shape);
  testing::write_text(diecast.folder / "x.npy",
                      std::string(reinterpret_cast<const char*>(header.data()), header.size()) +
                          std::string(std::size_t{2} * 64 * 100, '\0'));
  // A command goes on behind a backslash, and its explanation stands behind three spaces.
  const std::string commands = std::regex_replace(page, std::regex(R"(\\\n *)"), "");
  int run_of_them = 0;
  for (const std::string_view line : split(commands, '\n')) {
    if (!line.starts_with("    diecast ") || line.find("mine.txt") != line.npos) continue;
    std::string text(line.substr(0, line.find("   ", 12)));
    text = std::regex_replace(text, std::regex("--target cuda"), "--target host");
    ProcessRequest request;
    request.arguments = {"sh", "-c",
                         std::string(DIECAST_TOOL) + text.substr(11) +
                             (text.find(" tune ") == text.npos ? "" : " --samples 3")};
    request.environment = diecast.environment();
    request.directory = diecast.folder.path();
    const auto run = run_process(request).value();
    ++run_of_them;
    if (run.errors.find("no disassembler") != std::string::npos) continue;
    EXPECT_EQ(run.exit_code, 0) << text << "\n" << run.errors;
    const bool to_file = text.find('>') != text.npos;
    const std::string shown = to_file ? text_of(diecast.folder / "all.txt") : run.output;
    const char* const words = text.find(" warm ") == text.npos ? "scale_rows" : " 0 failed";
    EXPECT_NE(shown.find(words), std::string::npos) << text << "\n" << shown;
    EXPECT_EQ(run.output.find("differs"), std::string::npos) << run.output;
  }
  EXPECT_EQ(run_of_them, 9);
}

TEST(ToolOnHost, RefusesToOverwriteItsInput) {
  ToolRun diecast;
  if (!host_works(diecast)) GTEST_SKIP() << "no host device or compiler";
  const std::string in = diecast.folder / "in.safetensors";
  testing::write_small_checkpoint(in);
  const std::string before = text_of(in);
  const auto run = diecast({"quantize", in, in, "--target", "host"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.output, "");  // no plan above the error
  EXPECT_EQ(text_of(in), before);
}

}  // namespace
}  // namespace diecast
