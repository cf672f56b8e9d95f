// Configs of strangers: whatever one says, a plan is the one that it would be without, or an error.
#include <checkpoint/convert_fixture.h>
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/side_files.h>
#include <diecast/checkpoint/verify/verify.h>

namespace diecast::testing {
namespace {

const std::string kDown = "model.layers.0.mlp.down_proj.weight";

// Values that no key of a config has room for.
const std::string kOdd[] = {"null",
                            "true",
                            "-1",
                            "0",
                            "1.5",
                            "1e300",
                            "18446744073709551615",
                            "18446744073709551616",
                            R"("x")",
                            R"("")",
                            "[]",
                            "[[]]",
                            "[null]",
                            "[18446744073709551615, 18446744073709551615]",
                            "{}",
                            R"({"a": {}})",
                            R"({"a": {"weights": 3, "targets": 3, "format": []}})",
                            R"({"a": {"weights": {"type": "int", "num_bits": [4]}}})",
                            R"({"a": {"weights": {"type": "int", "group_size": {}}}})",
                            R"({"a": {"weights": {"strategy": "block", "block_structure": 1}}})",
                            std::string(200, '[') + std::string(200, ']'),
                            "\"" + std::string(3000, 'x') + "\""};

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::vector<std::string> hostile_configs() {
  constexpr std::size_t kDeep = 5000;
  std::vector<std::string> out = {"",
                                  "null",
                                  "3",
                                  "[]",
                                  R"("x")",
                                  "{",
                                  "{}}",
                                  "\xEF\xBB\xBF{}",
                                  std::string("{\0}", 3),
                                  "{\"a\": \"\xFF\"}",
                                  "{'a': 1}",
                                  R"({"a": 1, "a": 2, "model_type": NaN, "b": -Infinity})",
                                  repeated("[", kDeep),
                                  repeated("{\"a\":", kDeep),
                                  repeated("{\"text_config\":", kDeep) + "1" + repeated("}", kDeep),
                                  repeated("{\"text_config\":", 60) + "{}" + repeated("}", 60)};
  for (const std::string& odd : kOdd) {
    for (const char* key : {"num_hidden_layers", "hidden_size", "vocab_size", "model_type",
                            "text_config", "quantization_config", "compression_config"})
      out.push_back(cat("{\"", key, "\": ", odd, "}"));
    const auto say = [&](std::string_view method, std::initializer_list<std::string_view> keys) {
      for (const std::string_view key : keys)
        out.push_back(cat(R"({"quantization_config": {"quant_method": ")", method, "\", \"", key,
                          "\": ", odd, "}}"));
    };
    say("fp8", {"weight_block_size", "modules_to_not_convert", "activation_scheme"});
    say("compressed-tensors", {"format", "config_groups", "ignore", "kv_cache_scheme"});
    say("modelopt", {"quant_algo", "quantized_layers", "ignore", "producer"});
    out.push_back(cat(R"({"quantization_config": {"quant_method": ")", "compressed-tensors",
                      R"(", "format": "pack-quantized", "config_groups": )", odd, "}}"));
    out.push_back(cat(R"({"quantization_config": {"quant_method": )", odd, "}}"));
  }
  return out;
}

class HostileConfig : public Convert {
 protected:
  static TestFile bf16() {
    TestFile file;
    file.tensors[kDown] = random_tensor("BF16", {16, 32}, 1);
    return file;
  }
  static TestFile fp8() {
    TestFile file;
    file.tensors[kDown] = {"F8_E4M3", {16, 32}, std::string(512, '8')};
    file.tensors[kDown + "_scale"] = floats({1}, {1});
    return file;
  }
  static TestFile int4() {
    TestFile file;
    file.tensors[kDown + "_packed"] = {"I32", {16, 4}, std::string(256, '8')};
    file.tensors[kDown + "_scale"] = floats({16, 1}, std::vector<float>(16, 1));
    return file;
  }
  TestFile nvfp4() { return quantized(bf16()); }

  // What of the plan decides the output's bits, or the error's code.
  static std::string told(const Result<Plan>& plan) {
    if (!plan) {
      EXPECT_NE(plan.error().code, ErrorCode::internal);
      EXPECT_FALSE(plan.error().fix.empty()) << plan.error().message();
      EXPECT_LT(plan.error().message().size(), 2000u);
      return "";
    }
    std::string out;
    for (const PlannedTensor& tensor : plan->tensors) {
      out += cat(tensor.name, " ", action_name(tensor.action));
      if (tensor.scaled) out += cat(" ", tensor.scaled->block_rows, "x", tensor.scaled->block_cols);
    }
    return out;
  }
  void expect_sane(const TestFile& file, const std::string& name) {
    const std::string model = folder_ / "model";
    std::filesystem::remove_all(model);
    std::filesystem::create_directories(model);
    write_text(model + "/model.safetensors", encode(file));
    const Checkpoint checkpoint = Checkpoint::open(model).value();
    const std::string quantized = told(plan_quantize(checkpoint)),
                      numbers = told(plan_dequantize(checkpoint, DType::f32));
    for (const std::string& config : hostile_configs()) {
      SCOPED_TRACE(config.substr(0, 200));
      write_text(model + "/" + name, config);
      const auto plan = plan_quantize(checkpoint);
      const std::string there = told(plan), back = told(plan_dequantize(checkpoint, DType::f32));
      EXPECT_TRUE(there.empty() || there == quantized) << there;
      EXPECT_TRUE(back.empty() || back == numbers) << back;
      const auto report = verify_checkpoint(checkpoint);
      EXPECT_TRUE(report || !report.error().fix.empty());
      if (!plan) continue;
      const auto beside = SideFiles::find(checkpoint, *plan);
      ASSERT_TRUE(beside) << beside.error().message();
      for (const SideFile& each : beside->list())
        EXPECT_TRUE(!each.text || parse_config(*each.text)) << *each.text;
    }
  }
};

TEST_F(HostileConfig, IsReadAsNothingOrRefused) {
  expect_sane(bf16(), "config.json");
  expect_sane(fp8(), "config.json");
  expect_sane(int4(), "config.json");
  expect_sane(nvfp4(), "config.json");
}

TEST_F(HostileConfig, OfModelOptToo) { expect_sane(fp8(), "hf_quant_config.json"); }

TEST_F(HostileConfig, ThatIsTooLongIsAnError) {
  std::filesystem::create_directories(folder_ / "model");
  write_text(folder_ / "model/model.safetensors", encode(bf16()));
  write_text(folder_ / "model/config.json", "{" + std::string(kConfigLimit, ' ') + "}");
  const auto plan = plan_quantize(Checkpoint::open(folder_ / "model").value());
  ASSERT_FALSE(plan);
  EXPECT_FALSE(plan.error().fix.empty()) << plan.error().message();
}

}  // namespace
}  // namespace diecast::testing
