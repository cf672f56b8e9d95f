// Models in MX formats: what is written for which engine, and the way back.
#include <checkpoint/plan_fixture.h>
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace diecast::testing {
namespace {

using Json = nlohmann::ordered_json;

const std::string kLayer = "model.layers.0.";

TestFile small_model() {
  TestFile file;
  file.metadata = {{"format", "pt"}};
  std::uint64_t seed = 0;
  const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
    file.tensors[name] = random_tensor("BF16", std::move(shape), ++seed);
  };
  add("model.embed_tokens.weight", {40, 64});
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    add(cat(kLayer, "self_attn.", name, ".weight"), {64, 64});
  add(kLayer + "mlp.gate.weight", {2, 64});
  add(kLayer + "mlp.experts.gate_up_proj", {2, 192, 64});
  add(kLayer + "mlp.experts.down_proj", {2, 64, 96});
  add(kLayer + "mlp.odd.weight", {64, 48});  // whole blocks of 16, not of 32
  add("model.visual.blocks.0.proj.weight", {64, 64});
  add("lm_head.weight", {40, 64});
  return file;
}

class Mx : public Convert {
 protected:
  Mx() {
    std::filesystem::create_directories(model_);
    write_text(model_ + "/model.safetensors", encode(small_model()));
    write_text(model_ + "/config.json", R"({"num_hidden_layers": 1})");
  }
  // The files of the output, quantized in this form.
  TestFile written(WeightFormat format, std::optional<EngineConfig> config = {},
                   std::uint64_t piece = 32 << 20) {
    QuantizeOptions options;
    options.format = format;
    options.config = config;
    ConvertOptions convert_options;
    convert_options.overwrite = true;
    convert_options.piece_bytes = piece;
    const auto report = quantize_with_scalars(model_, small_, options, convert_options);
    EXPECT_TRUE(report) << report.error().message();
    return decode(text_of(small_ + "/model.safetensors"));
  }
  Json said() { return Json::parse(text_of(small_ + "/config.json"))["quantization_config"]; }

  const std::string model_ = folder_ / "model", small_ = folder_ / "small",
                    home_ = folder_ / "home";
};

TEST_F(Mx, HasTheNamesAndTheConfigOfEachEngine) {
  const std::string q = kLayer + "self_attn.q_proj.";
  const auto parts = [&](const TestFile& file) {
    std::string out;
    for (const auto& [name, tensor] : file.tensors)
      if (name.starts_with(q)) out += cat(name.substr(q.size()), " ", tensor.dtype, "; ");
    return out;
  };
  EXPECT_EQ(parts(written(WeightFormat::mxfp8)), "weight F8_E4M3; weight_scale U8; ");
  EXPECT_EQ(said()["quant_method"], "modelopt");
  EXPECT_EQ(said()["quant_algo"], "MXFP8");
  EXPECT_EQ(Json::parse(text_of(small_ + "/hf_quant_config.json"))["quantization"]["quant_algo"],
            "MXFP8");
  std::filesystem::remove_all(small_);
  EXPECT_EQ(parts(written(WeightFormat::mxfp8, EngineConfig::sglang)),
            "weight F8_E4M3; weight_scale_inv U8; ");
  EXPECT_EQ(said()["quant_method"], "mxfp8");
  EXPECT_EQ(said()["weight_block_size"], Json::parse("[1, 32]"));
  const Json ignored = said()["modules_to_not_convert"];
  EXPECT_EQ(std::count(ignored.begin(), ignored.end(), kLayer + "mlp.gate"), 1);
  EXPECT_FALSE(std::filesystem::exists(small_ + "/hf_quant_config.json"));
  std::filesystem::remove_all(small_);
  EXPECT_EQ(parts(written(WeightFormat::mxfp8, EngineConfig::compressed_tensors)),
            "weight F8_E4M3; weight_scale U8; ");
  EXPECT_EQ(said()["format"], "mxfp8-quantized");
  std::filesystem::remove_all(small_);
  EXPECT_EQ(parts(written(WeightFormat::mxfp4)), "weight_packed U8; weight_scale U8; ");
  EXPECT_EQ(said()["format"], "mxfp4-pack-quantized");
  const Json group = said()["config_groups"]["group_0"];
  EXPECT_EQ(group["weights"]["group_size"], 32);
  EXPECT_TRUE(group["input_activations"].is_null());
  // Engines rename what stands before a tower.
  const Json patterns = said()["ignore"];
  for (const char* pattern : {R"(re:(.*\.)?gate$)", R"(re:(.*\.)?odd$)", R"(re:(.*\.)?visual\..*)",
                              "re:.*lm_head", "model.embed_tokens"})
    EXPECT_EQ(std::count(patterns.begin(), patterns.end(), pattern), 1) << pattern;
}

TEST_F(Mx, HasForEachBlockTheLeastScaleThatClipsNothing) {
  const TestFile model = small_model();
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{160}}) {
    const TestFile out = written(WeightFormat::mxfp8, {}, piece);
    const std::string name = kLayer + "self_attn.o_proj.weight";
    const TestTensor &x = model.tensors.at(name), &scales = out.tensors.at(name + "_scale");
    EXPECT_EQ(scales.shape, (Dims{64, 2}));
    const ByteSpan values = as_bytes(x.bytes);
    for (std::size_t block = 0; block < scales.bytes.size(); ++block) {
      const float amax = amax_of(values, DType::bf16, block * 32, 32);
      const float scale = std::ldexp(1.0f, static_cast<std::uint8_t>(scales.bytes[block]) - 127);
      EXPECT_LE(amax, 448 * scale);
      EXPECT_GT(amax, 224 * scale);
    }
    EXPECT_EQ(out.tensors.at(kLayer + "mlp.odd.weight"),
              model.tensors.at(kLayer + "mlp.odd.weight"));
  }
}

TEST_F(Mx, GoesThereAndBack) {
  const TestFile model = small_model();
  for (const auto& [format, config] : {std::pair{WeightFormat::mxfp8, EngineConfig::modelopt},
                                       {WeightFormat::mxfp8, EngineConfig::compressed_tensors},
                                       {WeightFormat::mxfp8, EngineConfig::sglang},
                                       {WeightFormat::mxfp4, EngineConfig::compressed_tensors}}) {
    SCOPED_TRACE(cat(word(format), " ", word(config)));
    std::filesystem::remove_all(small_);
    std::filesystem::remove_all(home_);
    written(format, config);
    const auto report = dequantize_with_scalars(small_, home_);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(tree(home_), tree(model_));
    const TestFile back = decode(text_of(home_ + "/model.safetensors"));
    EXPECT_EQ(back.metadata, model.metadata);
    ASSERT_EQ(back.tensors.size(), model.tensors.size());
    const double most = format == WeightFormat::mxfp8 ? 1.0 / 16 : 1.0 / 4;  // of a block's largest
    for (const auto& [name, want] : model.tensors) {
      const TestTensor& got = back.tensors.at(name);
      ASSERT_EQ(got.shape, want.shape);
      ASSERT_EQ(got.dtype, want.dtype);
      const std::size_t count = got.bytes.size() / 2;
      for (std::size_t i = 0; i < count; ++i) {
        const float largest = amax_of(as_bytes(want.bytes), DType::bf16, i / 32 * 32, 32);
        ASSERT_LE(std::abs(element(as_bytes(got.bytes), DType::bf16, i) -
                           element(as_bytes(want.bytes), DType::bf16, i)),
                  most * largest)
            << name << " " << i;
      }
    }
    // Without our metadata the type must be named.
    TestFile foreign = decode(text_of(small_ + "/model.safetensors"));
    foreign.metadata = {{"format", "pt"}};
    write_text(in_, encode(foreign));
    EXPECT_EQ(dequantize_with_scalars(in_, back_).error().code, ErrorCode::value_missing);
    std::filesystem::remove(back_);
    EXPECT_TRUE(dequantize_with_scalars(in_, back_, DType::bf16));
  }
}

// MXFP4 codes and FP8 values under powers of two lose nothing in MXFP8.
TEST_F(Mx, OfMxfp4LosesNothing) {
  written(WeightFormat::mxfp4);
  std::filesystem::remove_all(home_);
  TestFile source = decode(text_of(small_ + "/model.safetensors"));
  source.metadata = {{"format", "pt"}};
  write_text(in_, encode(source));
  for (const WeightFormat format : {WeightFormat::mxfp4, WeightFormat::mxfp8}) {
    QuantizeOptions options;
    options.format = format;
    ConvertOptions replace;
    replace.overwrite = true;
    ASSERT_TRUE(quantize_with_scalars(in_, out_, options, replace));
    const std::string back = folder_ / std::string(word(format));
    ASSERT_TRUE(dequantize_with_scalars(out_, back, DType::f32));
    const std::string plain = cat(back, ".plain");
    ASSERT_TRUE(dequantize_with_scalars(in_, plain, DType::f32));
    EXPECT_EQ(decode(text_of(back)).tensors, decode(text_of(plain)).tensors) << word(format);
  }
}

// Attention in eight bits, experts in four: the config says of each module which.
TEST_F(Mx, StandsBesideNvfp4) {
  QuantizeOptions options;
  options.mxfp8 = {"*.self_attn.q_proj.weight", "*.o_proj.*"};  // with q_proj k_proj and v_proj
  ASSERT_TRUE(quantize_with_scalars(model_, small_, options));
  const TestFile out = decode(text_of(small_ + "/model.safetensors"));
  EXPECT_EQ(out.tensors.at(kLayer + "self_attn.v_proj.weight").dtype, "F8_E4M3");
  EXPECT_EQ(out.tensors.count(kLayer + "self_attn.v_proj.input_scale"), 0u);
  EXPECT_EQ(out.tensors.at(kLayer + "mlp.experts.1.up_proj.weight").dtype, "U8");
  EXPECT_EQ(out.tensors.at(kLayer + "mlp.odd.weight").dtype, "U8") << "whole blocks of 16";
  EXPECT_EQ(said()["quant_method"], "modelopt_mixed");
  EXPECT_EQ(said()["quant_algo"], "MIXED_PRECISION");
  const Json layers = said()["quantized_layers"];
  EXPECT_EQ(layers[kLayer + "self_attn.qkv_proj"],
            Json::parse(R"({"quant_algo": "MXFP8", "group_size": 32})"));
  EXPECT_EQ(layers[kLayer + "mlp.experts"],
            Json::parse(R"({"quant_algo": "NVFP4", "group_size": 16})"));
  EXPECT_FALSE(layers.contains(kLayer + "mlp.gate"));
  const Json alone = Json::parse(text_of(small_ + "/hf_quant_config.json"))["quantization"];
  EXPECT_EQ(alone["quantized_layers"], layers);
  ASSERT_TRUE(dequantize_with_scalars(small_, home_));
  EXPECT_EQ(tree(home_), tree(model_));
  const TestFile back = decode(text_of(home_ + "/model.safetensors"));
  ASSERT_EQ(back.tensors.size(), small_model().tensors.size());
  for (const auto& [name, tensor] : small_model().tensors)
    EXPECT_EQ(back.tensors.at(name).shape, tensor.shape) << name;
  for (const auto& change : std::vector<std::function<void(QuantizeOptions&)>>{
           [](auto& o) { o.format = WeightFormat::mxfp4; }, [](auto& o) { o.row_scaled = true; },
           [](auto& o) { o.config = EngineConfig::compressed_tensors; }}) {
    QuantizeOptions refused = options;
    change(refused);
    EXPECT_EQ(quantize_with_scalars(model_, in_, refused).error().code, ErrorCode::not_supported);
  }
}

TEST(MxPlan, RefusesWhatNvfp4AloneHas) {
  const auto header = weights({"l.0.a.weight"});
  const auto code = [&](const std::function<void(QuantizeOptions&)>& change) {
    QuantizeOptions options;
    options.format = WeightFormat::mxfp8;
    change(options);
    const auto plan = plan_quantize(header, options);
    return plan ? ErrorCode::internal : plan.error().code;
  };
  EXPECT_EQ(code([](QuantizeOptions&) {}), ErrorCode::internal);
  EXPECT_EQ(code([](auto& o) { o.row_scaled = true; }), ErrorCode::not_supported);
  EXPECT_EQ(code([](auto& o) { o.scheme.profile = Profile::torchao; }), ErrorCode::not_supported);
  EXPECT_EQ(code([](auto& o) { o.experts = ExpertForm::fused; }), ErrorCode::not_supported);
  EXPECT_EQ(code([](auto& o) { o.input_scales = {{"l.0.a", 1.0f}}; }), ErrorCode::invalid_argument);
  const auto bank = header_of({{"l.0.experts.weight", StoredDType::bf16, {2, 32, 32}}});
  QuantizeOptions options = including({"*"});
  options.format = WeightFormat::mxfp8;
  EXPECT_EQ(plan_quantize(bank, options).error().message(),
            "diecast: not_supported: \"l.0.experts.weight\" has several matrices or global scales, "
            "which no engine reads in mxfp8 of modelopt\n"
            "  fix: leave it out with --exclude \"l.0.experts.weight\", or take --format nvfp4 and "
            "--config modelopt");
  options.format = WeightFormat::mxfp4;
  options.config = EngineConfig::modelopt;
  EXPECT_EQ(plan_quantize(header, options).error().message(),
            "diecast: not_supported: mxfp4 with a config of modelopt, which no engine reads\n"
            "  fix: --config compressed-tensors or gpt-oss goes with it");
}

TEST(MxPlan, RefusesMetadataOfWeightsThatAreNotThere) {
  const Plan there = plan_quantize(weights({"l.0.a.weight"}),
                                   [] {
                                     QuantizeOptions options;
                                     options.format = WeightFormat::mxfp8;
                                     return options;
                                   }())
                         .value();
  SafetensorsHeader bad = there.outputs[0];
  EXPECT_TRUE(plan_dequantize(bad));
  bad.metadata["diecast.dtypes"] = R"({"l.0.a.weight":"BF16","l.0.b.weight":"BF16"})";
  const auto plan = plan_dequantize(bad);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::file_corrupt);
}

}  // namespace
}  // namespace diecast::testing
