// compressed-tensors' models of several groups: NVFP4 with FP8 attention is verified by the groups'
// targets, dequantized and converted.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/verify.h>

#include <functional>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;

const std::string kLayer = "model.layers.0.", kMlp = kLayer + "mlp.";

class ConfigGroups : public Convert {
 protected:
  // As llm-compressor writes it: attention in FP8 with a scale a row, the rest of a layer in NVFP4.
  ConfigGroups() {
    TestFile file;
    file.metadata = {{"format", "pt"}};
    std::uint64_t seed = 0;
    file.tensors["model.embed_tokens.weight"] = random_tensor("BF16", {8, 32}, ++seed);
    file.tensors["lm_head.weight"] = random_tensor("BF16", {8, 32}, ++seed);
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      file.tensors[cat(kMlp, name, ".weight")] = random_tensor("BF16", {32, 32}, ++seed);
    std::filesystem::create_directories(model_);
    write_text(model_ + "/model.safetensors", encode(file));
    write_text(model_ + "/config.json", R"({"num_hidden_layers": 1})");
    QuantizeOptions options;
    options.config = EngineConfig::compressed_tensors;
    EXPECT_TRUE(quantize_with_scalars(model_, made_, options));
    file_ = decode(text_of(made_ + "/model.safetensors"));
    std::erase_if(file_.metadata, [](const auto& each) { return each.first != "format"; });
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      const std::string weight = cat(kLayer, "self_attn.", name, ".weight");
      file_.tensors[weight] = {"F8_E4M3", {32, 32}, std::string(1024, '8')};  // 1.0
      file_.tensors[weight + "_scale"] = floats({32, 1}, std::vector<float>(32, 0.5f));
    }
    config_ = Json::parse(text_of(made_ + "/config.json"));
    Json& said = config_["quantization_config"];
    said["format"] = "mixed-precision";
    const Json fp8 = {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}};
    said["config_groups"]["fp8"] = {
        {"format", "float-quantized"},
        {"targets", {"re:.*self_attn\\.(q|k|v)_proj$", kLayer + "self_attn.o_proj"}},
        {"weights", fp8},
        {"input_activations", {{"num_bits", 8}, {"dynamic", true}}}};
  }
  void write(const TestFile& file, const Json& config) {
    std::filesystem::create_directories(small_);
    write_text(small_ + "/model.safetensors", encode(file));
    write_text(small_ + "/config.json", config.dump());
  }
  using Change = std::function<void(TestFile&, Json& groups)>;
  Result<VerifyReport> after(const Change& change) {
    TestFile file = file_;
    Json config = config_;
    change(file, config["quantization_config"]["config_groups"]);
    write(file, config);
    return verify_checkpoint(Checkpoint::open(small_).value());
  }
  void expect_told(const Change& change, const std::string& what) {
    const auto report = after(change);
    ASSERT_TRUE(report) << report.error().message();
    std::string all;
    for (const VerifyFault& fault : report->faults) all += fault.what + "\n";
    EXPECT_NE(all.find(what), std::string::npos) << what << " is not in:\n" << all;
    EXPECT_FALSE(report->loads(Engine::vllm)) << what;
  }

  const std::string model_ = folder_ / "model", made_ = folder_ / "made",
                    small_ = folder_ / "small", home_ = folder_ / "home";
  const std::string q_ = kLayer + "self_attn.q_proj.weight";
  TestFile file_;
  Json config_;
};

TEST_F(ConfigGroups, AreReadByTheirTargets) {
  const auto report = after([](TestFile&, Json&) {});
  ASSERT_TRUE(report) << report.error().message();
  for (const VerifyFault& fault : report->faults) ADD_FAILURE() << fault.what;
  EXPECT_EQ(report->quantized, 7u);
  EXPECT_TRUE(report->is_known(Engine::vllm));
  EXPECT_FALSE(report->is_known(Engine::sglang));
}

TEST_F(ConfigGroups, TellWhatDoesNotFitThem) {
  expect_told([&](TestFile& f, Json&) { f.tensors.at(q_ + "_scale").shape = {32}; },
              "\"model.layers.0.self_attn.q_proj.weight_scale\" F32 [32] is not F32 [32, 1]");
  expect_told([&](TestFile& f, Json&) { f.tensors.erase(q_ + "_scale"); }, "has no ");
  expect_told([](TestFile&, Json& g) { g["fp8"]["input_activations"]["dynamic"] = false; },
              "has no \"model.layers.0.self_attn.k_proj.input_scale\"");
  expect_told([](TestFile&, Json& g) { g["fp8"]["weights"]["strategy"] = "tensor"; },
              "is not F32 []");
  expect_told([](TestFile&, Json& g) { g["fp8"]["targets"] = Json::array({"re:.*q_proj"}); },
              "stops at ");
  expect_told(
      [](TestFile&, Json& g) { g["group_0"]["targets"] = Json::array({"re:.*mlp\\.up_proj"}); },
      "stops at ");
  expect_told([](TestFile&, Json& g) { g["group_0"]["targets"] = Json::array({"re:.*experts.*"}); },
              "is quantized, and vLLM 0.32 is told to ignore it");
}

// vLLM keeps one form of a target, the last that is said.
TEST_F(ConfigGroups, TheLastOneThatNamesATargetCounts) {
  const auto add_tensor_scales = [](Json& groups, const char* name) {
    groups[name] = groups["fp8"];
    groups[name]["weights"]["strategy"] = "tensor";
  };
  expect_told([&](TestFile&, Json& g) { add_tensor_scales(g, "later"); }, "is not F32 []");
  const auto report = after([&](TestFile&, Json& g) {
    add_tensor_scales(g, "earlier");
    const Json last = g["fp8"];
    g.erase("fp8");
    g["later"] = last;
  });
  ASSERT_TRUE(report) << report.error().message();
  for (const VerifyFault& fault : report->faults) ADD_FAILURE() << fault.what;
}

TEST_F(ConfigGroups, OfAnotherFormatAreNamed) {
  const auto what = [&](const Change& change) {
    const auto report = after(change);
    return report ? "" : report.error().what;
  };
  EXPECT_EQ(what([](TestFile&, Json& g) { g["fp8"]["format"] = "int-quantized"; }),
            "the model's config says \"compressed-tensors\" \"int-quantized\" in its group "
            "\"fp8\", of which no rules are known");
  for (const char* key : {"format", "weights"})
    EXPECT_NE(what([&](TestFile&, Json& g) { g["fp8"].erase(key); }).find("group \"fp8\""),
              std::string::npos)
        << key;
  EXPECT_NE(what([](TestFile&, Json& g) { g = Json::object(); }).find("without groups"),
            std::string::npos);
  EXPECT_EQ(what([](TestFile&, Json& g) {  // of the cache of keys and values
              g["cache"] = {{"targets", Json::array({"LlamaAttention"})}, {"format", "other"}};
            }),
            "");
}

TEST_F(ConfigGroups, AreDequantizedAndConverted) {
  write(file_, config_);
  ASSERT_TRUE(dequantize_with_scalars(small_, home_, DType::bf16));
  const TestFile plain = decode(text_of(home_ + "/model.safetensors"));
  EXPECT_EQ(plain.tensors.size(), 9u);
  for (const auto& [name, tensor] : plain.tensors) EXPECT_EQ(tensor.dtype, "BF16") << name;
  std::string half;
  for (int i = 0; i < 1024; ++i) half += std::string("\x00\x3f", 2);
  EXPECT_EQ(plain.tensors.at(q_).bytes, half);
  EXPECT_FALSE(Json::parse(text_of(home_ + "/config.json")).contains("quantization_config"));
  std::filesystem::remove_all(home_);
  QuantizeOptions to;
  to.config = EngineConfig::modelopt;
  ASSERT_TRUE(quantize_with_scalars(small_, home_, to));
  const TestFile other = decode(text_of(home_ + "/model.safetensors"));
  EXPECT_EQ(other.tensors.at(q_), plain.tensors.at(q_));
  EXPECT_EQ(other.tensors.at(kLayer + "mlp.up_proj.weight").bytes,
            file_.tensors.at(kLayer + "mlp.up_proj.weight_packed").bytes);
  EXPECT_TRUE(verify_checkpoint(Checkpoint::open(home_).value())->faults.empty());
}

TEST_F(ConfigGroups, ThatAreFp8AloneAreQuantized) {
  std::erase_if(file_.tensors, [](const auto& each) { return each.first.starts_with(kMlp); });
  config_["quantization_config"]["config_groups"].erase("group_0");
  write(file_, config_);
  const auto report = quantize_with_scalars(small_, home_, {});
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(decode(text_of(home_ + "/model.safetensors")).tensors.at(q_).dtype, "U8");
}

}  // namespace
}  // namespace diecast::testing
