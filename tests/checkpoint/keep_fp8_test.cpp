// FP8 weights that stay FP8 beside NVFP4: their bytes, what the config says of them, who reads it,
// and which have no word for it.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/verify.h>

#include <functional>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;

const std::string kLayer = "model.layers.0.";

struct Kind {
  Fp8Form form;
  std::string part, dtype;
  std::vector<std::uint64_t> shape, kept;  // of the scales of [128, 256], before and after
};
const std::vector<Kind> kKinds = {
    {Fp8Form::blocks, "weight_scale_inv", "F32", {1, 2}, {1, 1, 2, 1}},
    {Fp8Form::blocks, "weight_scale_inv", "BF16", {1, 2}, {1, 1, 2, 1}},
    {Fp8Form::rows, "weight_scale", "F32", {128, 1}, {128}},
    {Fp8Form::tensor, "weight_scale", "F32", {1}, {}}};

TestTensor fp8(std::vector<std::uint64_t> shape, std::uint64_t seed) {
  TestTensor out{"F8_E4M3", std::move(shape), {}};
  for (std::uint64_t i = 0; i < out.shape[0] * out.shape[1]; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    out.bytes.push_back(static_cast<char>(seed >> 56 & 0xBF));  // no NaN
  }
  return out;
}

// Powers of two, which BF16 holds too.
TestTensor scales(const std::string& dtype, const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t dim : shape) count *= dim;
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i)
    values.push_back(std::ldexp(1.0f, static_cast<int>(i * 7 % 5) - 8));
  TestTensor out = floats(shape, values);
  if (dtype == "F32") return out;
  std::string cut;
  for (std::size_t i = 0; i < out.bytes.size(); i += 4) cut += out.bytes.substr(i + 2, 2);
  return {dtype, shape, cut};
}

class KeepFp8 : public Convert {
 protected:
  void write(const Kind& kind, const std::function<void(TestFile&)>& change = {}) {
    TestFile file;
    file.metadata = {{"format", "pt"}};
    file.tensors["model.embed_tokens.weight"] = random_tensor("BF16", {8, 256}, 1);
    file.tensors[kLayer + "mlp.down_proj.weight"] = random_tensor("BF16", {256, 128}, 2);
    std::uint64_t seed = 1;
    for (const char* name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                             "mlp.gate_proj", "mlp.up_proj"}) {
      file.tensors[cat(kLayer, name, ".weight")] = fp8({128, 256}, ++seed);
      file.tensors[cat(kLayer, name, ".", kind.part)] = scales(kind.dtype, kind.shape);
      if (kind.form == Fp8Form::tensor)
        file.tensors[cat(kLayer, name, ".input_scale")] = floats({1}, {0.25f});
    }
    if (change) change(file);
    std::filesystem::remove_all(model_);
    std::filesystem::create_directories(model_);
    write_text(model_ + "/model.safetensors", encode(file));
    write_text(model_ + "/config.json",
               R"({"num_hidden_layers": 1, "quantization_config": {"quant_method": "fp8"}})");
    in_model_ = file;
  }
  Result<ConvertReport> quantized(bool keep_fp8, std::optional<EngineConfig> config = {}) {
    QuantizeOptions options;
    options.keep = {"*.self_attn.*"};
    options.keep_fp8 = keep_fp8;
    options.config = config;
    std::filesystem::remove_all(small_);
    return quantize_with_scalars(model_, small_, options);
  }
  TestFile written() { return decode(text_of(small_ + "/model.safetensors")); }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    home_ = folder_ / "home";
  TestFile in_model_;
};

TEST_F(KeepFp8, LeavesWhatIsNotQuantizedAsItIs) {
  const std::string q = kLayer + "self_attn.q_proj", up = kLayer + "mlp.up_proj";
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(cat(word(kind.form), " ", kind.dtype));
    write(kind);
    ASSERT_TRUE(quantized(false));
    const TestFile without = written();
    const auto report = quantized(true);
    ASSERT_TRUE(report) << report.error().message();
    const TestFile got = written();
    EXPECT_EQ(got.tensors.at(up + ".weight"), without.tensors.at(up + ".weight"));
    EXPECT_EQ(got.tensors.at(q + ".weight"), in_model_.tensors.at(q + ".weight"));
    TestTensor want = scales("F32", kind.shape);
    want.shape = kind.kept;
    EXPECT_EQ(got.tensors.at(q + ".weight_scale"), want);
    EXPECT_EQ(got.tensors.contains(q + ".input_scale"), kind.form == Fp8Form::tensor);
    EXPECT_FALSE(got.tensors.contains(q + ".weight_scale_inv"));
    const Json said = Json::parse(text_of(small_ + "/config.json"))["quantization_config"];
    EXPECT_EQ(said["quant_algo"], "MIXED_PRECISION");
    EXPECT_EQ(said["quantized_layers"][q]["quant_algo"], std::string(word(kind.form)));
    EXPECT_EQ(said["quantized_layers"][kLayer + "self_attn.qkv_proj"], said["quantized_layers"][q]);
    EXPECT_EQ(said["quantized_layers"][up]["quant_algo"], "NVFP4");
    const VerifyReport verdict = verify_checkpoint(Checkpoint::open(small_).value()).value();
    EXPECT_TRUE(verdict.loads(Engine::vllm)) << verdict.faults[0].what;
    EXPECT_EQ(verdict.loads(Engine::sglang), kind.form == Fp8Form::tensor);
    // The way back is that of the FP8 model.
    ASSERT_TRUE(dequantize_with_scalars(small_, home_));
    EXPECT_EQ(decode(text_of(home_ + "/model.safetensors")).tensors.at(q + ".weight"),
              without.tensors.at(q + ".weight"));
    std::filesystem::remove_all(home_);
  }
}

TEST_F(KeepFp8, SaysWhoReadsIt) {
  write(kKinds[0]);
  QuantizeOptions options;
  options.keep = {"*.self_attn.*"};
  options.keep_fp8 = true;
  const Plan plan = plan_quantize(Checkpoint::open(model_).value(), options).value();
  EXPECT_EQ(plan.notes.back(),
            "3 FP8 weights stay as they are, which vLLM 0.32 reads beside nvfp4 and SGLang "
            "0.5.23 does not");
}

// An expert's scales keep the name by which engines look for them.
TEST_F(KeepFp8, ExpertsKeepTheNameOfTheirScales) {
  const std::string expert = kLayer + "self_attn.experts.0.up_proj";
  write(kKinds[0], [&](TestFile& file) {
    file.tensors[expert + ".weight"] = fp8({128, 256}, 99);
    file.tensors[expert + ".weight_scale_inv"] = scales("F32", {1, 2});
  });
  ASSERT_TRUE(quantized(true));
  EXPECT_EQ(written().tensors.at(expert + ".weight_scale_inv"), scales("F32", {1, 2}));
}

// Some engine reads these as floating-point numbers, whatever a config says.
TEST_F(KeepFp8, IsNotForWhatEnginesBuildWithoutAConfig) {
  const std::vector<std::string> names = {"lm_head", kLayer + "self_attn.indexer.wk",
                                          kLayer + "self_attn.kv_b_proj"};
  write(kKinds[0], [&](TestFile& file) {
    for (const std::string& name : names) {
      file.tensors[name + ".weight"] = fp8({128, 256}, 77);
      file.tensors[name + ".weight_scale_inv"] = scales("F32", {1, 2});
    }
  });
  ASSERT_TRUE(quantized(true));
  const TestFile got = written();
  for (const std::string& name : names) {
    EXPECT_EQ(got.tensors.at(name + ".weight").dtype, "BF16");
    EXPECT_FALSE(got.tensors.contains(name + ".weight_scale"));
  }
  EXPECT_TRUE(verify_checkpoint(Checkpoint::open(small_).value())->loads(Engine::vllm));
}

TEST_F(KeepFp8, IsRefusedByNameWhereNoConfigCanSayIt) {
  const std::string q = kLayer + "self_attn.q_proj";
  const auto refused = [&](const std::string& why) {
    const auto report = quantized(true);
    ASSERT_FALSE(report) << why;
    EXPECT_EQ(report.error().code, ErrorCode::not_supported);
    EXPECT_NE(report.error().what.find(quote(q + ".weight")), std::string::npos);
    EXPECT_NE(report.error().what.find(why), std::string::npos) << report.error().what;
    EXPECT_FALSE(std::filesystem::exists(small_));
  };
  write(kKinds[0], [&](TestFile& file) { file.tensors[q + ".weight"] = fp8({128, 192}, 5); });
  refused("rows of 192");
  write(kKinds[3], [&](TestFile& file) { file.tensors.erase(q + ".input_scale"); });
  refused("no F32 input_scale");
  write(kKinds[0], [&](TestFile& file) {
    file.tensors[q + ".weight_scale_inv"] = {"U8", {128, 8}, std::string(1024, 127)};
  });
  refused("blocks of 1x32");
  write(kKinds[0]);
  const auto other = quantized(true, EngineConfig::compressed_tensors);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::not_supported);
}

TEST_F(KeepFp8, ItsFaultsAreTold) {
  const std::string q = kLayer + "self_attn.q_proj";
  write(kKinds[0]);
  ASSERT_TRUE(quantized(true));
  const TestFile good = written();
  const auto told = [&](const std::function<void(TestFile&)>& change) {
    TestFile file = good;
    change(file);
    write_text(small_ + "/model.safetensors", encode(file));
    return !verify_checkpoint(Checkpoint::open(small_).value())->loads(Engine::vllm);
  };
  EXPECT_FALSE(told([](TestFile&) {}));
  EXPECT_TRUE(told([&](TestFile& f) { f.tensors.erase(q + ".weight_scale"); }));
  EXPECT_TRUE(told([&](TestFile& f) { f.tensors.at(q + ".weight_scale").shape = {1, 2}; }));
  EXPECT_TRUE(told([&](TestFile& f) { f.tensors.at(q + ".weight").dtype = "I8"; }));
  EXPECT_TRUE(told([&](TestFile& f) {
    f.tensors.erase(q + ".weight_scale");
    f.tensors.at(q + ".weight") = random_tensor("BF16", {128, 256}, 3);
  }));
}

}  // namespace
}  // namespace diecast::testing
