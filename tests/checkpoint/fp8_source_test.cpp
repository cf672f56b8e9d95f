// Models whose weights are FP8 with scales beside them: they are quantized as the numbers that they
// stand for, and the others become BF16.
#include <checkpoint/plan_fixture.h>
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/fp8_source.h>

#include <cmath>

namespace diecast::testing {
namespace {

const std::string kUp = "model.layers.0.mlp.up_proj", kHead = "lm_head";

float e4m3(std::uint8_t byte) {
  const int exponent = byte >> 3 & 15, mantissa = byte & 7;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return byte & 0x80 ? -magnitude : magnitude;
}

struct Kind {
  std::string part, dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t rows, cols;  // of a block
};

// Of matrices of 40 x 80: blocks that do not divide, exponents, one scale a row, one for all.
const std::vector<Kind> kKinds = {{"weight_scale_inv", "F32", {3, 3}, 16, 32},
                                  {"weight_scale_inv", "BF16", {3, 3}, 16, 32},
                                  {"weight_scale_inv", "F8_E8M0", {3, 3}, 16, 32},
                                  {"scale", "U8", {3, 3}, 16, 32},
                                  {"weight_scale", "F32", {3, 3}, 16, 32},
                                  {"weight_scale", "F32", {40, 1}, 1, 80},
                                  {"weight_scale", "BF16", {40}, 1, 80},
                                  {"weight_scale", "F32", {}, 40, 80},
                                  {"weight_scale", "F32", {1}, 40, 80}};

// Scales that any of the types holds: powers of two.
float scale_at(std::uint64_t i) { return std::ldexp(1.0f, static_cast<int>(i * 7 % 11) - 8); }

TestTensor scales_of(const Kind& kind) {
  TestTensor out{kind.dtype, kind.shape, {}};
  std::uint64_t count = 1;
  for (const std::uint64_t dim : kind.shape) count *= dim;
  for (std::uint64_t i = 0; i < count; ++i) {
    const float value = scale_at(i);
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const std::uint32_t cut = kind.dtype == "F32"    ? bits
                              : kind.dtype == "BF16" ? bits >> 16
                                                     : bits >> 23;
    out.bytes.append(reinterpret_cast<const char*>(&cut), kind.dtype == "F32"    ? 4
                                                          : kind.dtype == "BF16" ? 2
                                                                                 : 1);
  }
  return out;
}

// The FP8 model, and in `plain` the numbers that its weights stand for.
TestFile fp8_model(const Kind& kind, TestFile& plain) {
  TestFile file;
  file.metadata = plain.metadata = {{"format", "pt"}};
  std::uint64_t seed = 1;
  for (const std::string& module : {kUp, kHead}) {
    TestTensor codes{"F8_E4M3", {40, 80}, {}};
    std::vector<float> values;
    for (std::uint64_t i = 0; i < 40 * 80; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      auto byte = static_cast<std::uint8_t>(seed >> 56);
      if ((byte & 0x7F) == 0x7F) byte = 0x31;  // no NaN
      const std::uint64_t row = i / 80 / kind.rows, col = i % 80 / kind.cols;
      const std::uint64_t grid = (80 + kind.cols - 1) / kind.cols;
      codes.bytes.push_back(static_cast<char>(byte));
      values.push_back(e4m3(byte) * scale_at(row * grid + col));
    }
    file.tensors[module + ".weight"] = codes;
    file.tensors[module + "." + kind.part] = scales_of(kind);
    plain.tensors[module + ".weight"] = floats({40, 80}, values);
  }
  file.tensors["model.embed_tokens.weight"] = random_tensor("BF16", {8, 16}, 1);
  plain.tensors["model.embed_tokens.weight"] = file.tensors.at("model.embed_tokens.weight");
  return file;
}

QuantizeOptions in_blocks() {
  QuantizeOptions options;
  options.model.readable = true;
  options.model.blocks = {16, 32};
  return options;
}

class Fp8Source : public Convert {};

TEST_F(Fp8Source, IsQuantizedAsTheNumbersThatItStandsFor) {
  for (const Kind& kind : kKinds) {
    for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{128}}) {
      SCOPED_TRACE(cat(kind.part, " ", kind.dtype, " ", kind.shape.size(), " ", piece));
      TestFile plain;
      const TestFile file = fp8_model(kind, plain);
      const QuantizeOptions options = in_blocks();
      const Plan plan = plan_quantize(header(file), options).value();
      const TestFile got = converted(file, plan, piece);
      TestFile want = converted(plain, plan_quantize(header(plain)).value(), piece);
      TestTensor& head = want.tensors.at(kHead + ".weight");
      EXPECT_EQ(got.tensors.at(kHead + ".weight").dtype, "BF16");
      EXPECT_EQ(got.tensors.size(), want.tensors.size()) << "no scales of FP8";
      const auto values = floats_of(head);
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint32_t bits;  // four bits of a number and a power of two: nothing is rounded
        std::memcpy(&bits, &values[i], 4);
        EXPECT_EQ(got.tensors.at(kHead + ".weight").bytes.substr(2 * i, 2),
                  std::string(reinterpret_cast<const char*>(&bits) + 2, 2));
      }
      head = got.tensors.at(kHead + ".weight");
      EXPECT_EQ(got.tensors, want.tensors);
      // As `dequantize --to f32`, then `quantize`.
      const Plan back = plan_dequantize(header(file), DType::f32, options.model).value();
      const TestFile decoded = converted(file, back, piece);
      EXPECT_EQ(decoded.tensors, plain.tensors);
    }
  }
}

// Two experts of 20 x 80 in one tensor, with blocks of 10 x 32 or of more rows than they have.
TEST_F(Fp8Source, OfFusedExpertsIsDequantized) {
  const std::string bank = "model.layers.0.mlp.experts.down_proj";
  const auto rename = [](TestFile& file, const std::string& from, const std::string& to,
                         std::vector<std::uint64_t> shape) {
    auto node = file.tensors.extract(from);
    node.key() = to;
    node.mapped().shape = std::move(shape);
    file.tensors.insert(std::move(node));
  };
  for (const std::uint64_t grid : {2u, 1u}) {
    TestFile plain;
    TestFile file = fp8_model({"weight_scale_inv", "F32", {2 * grid, 3}, 20 / grid, 32}, plain);
    for (const char* part : {".weight", ".weight_scale_inv"}) file.tensors.erase(kHead + part);
    rename(file, kUp + ".weight", bank, {2, 20, 80});
    rename(file, kUp + ".weight_scale_inv", bank + "_scale_inv", {2, grid, 3});
    rename(plain, kUp + ".weight", bank, {2, 20, 80});
    QuantizeOptions options;
    options.model.blocks = {grid == 2 ? 10u : 64u, 32};
    const auto quantized = plan_quantize(header(file), options);
    ASSERT_FALSE(quantized);
    EXPECT_NE(quantized.error().message().find("diecast dequantize"), std::string::npos);
    for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{128}}) {
      const Plan back = plan_dequantize(header(file), DType::f32, options.model).value();
      const TestFile out = converted(file, back, piece);
      EXPECT_EQ(out.tensors.at(bank), plain.tensors.at(bank));
      EXPECT_EQ(out.tensors.size(), 2u) << "no scales";
    }
  }
  TestFile plain;
  TestFile file = fp8_model({"weight_scale_inv", "F32", {4, 3}, 10, 32}, plain);
  rename(file, kUp + ".weight", bank, {2, 20, 80});
  rename(file, kUp + ".weight_scale_inv", bank + "_scale_inv", {2, 2, 3});
  ModelConfig model;
  for (const auto& [rows, code] : {std::pair{16u, ErrorCode::not_supported},  // no whole number
                                   {32u, ErrorCode::file_corrupt}}) {
    model.blocks = {rows, 32};
    file.tensors.erase(kHead + ".weight");
    const auto plan = plan_dequantize(header(file), DType::f32, model);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, code) << plan.error().message();
  }
}

TEST_F(Fp8Source, WhoseScalesDoNotFitIsRefused) {
  TestFile plain;
  for (const Kind& kind : {Kind{"weight_scale_inv", "F32", {3, 2}, 16, 32},
                           Kind{"weight_scale_inv", "F8_E4M3", {3, 3}, 16, 32},
                           Kind{"weight_scale", "F32", {39, 1}, 1, 80}}) {
    const auto plan = plan_quantize(header(fp8_model(kind, plain)), in_blocks());
    ASSERT_FALSE(plan) << kind.dtype;
    EXPECT_EQ(plan.error().code, ErrorCode::file_corrupt) << plan.error().message();
  }
  TestFile bad = fp8_model(kKinds[0], plain);
  const float infinity = std::numeric_limits<float>::infinity();
  bad.tensors.at(kUp + ".weight_scale_inv").bytes.replace(32, 4, scalar_bytes(infinity));
  const Plan plan = plan_quantize(header(bad), in_blocks()).value();  // writes in_
  const auto report = convert(Checkpoint::open(in_).value(), plan, out_, scalar_kernels());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().what, "scale 8 of \"" + kUp + ".weight_scale_inv\" is not finite");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// A folder as such models are published: scales in another file, and a config that says FP8.
TEST_F(Fp8Source, LeavesNothingOfItsConfigInAFolder) {
  TestFile plain;
  const TestFile file = fp8_model(kKinds[0], plain);
  Shards shards;
  for (const auto& [name, tensor] : file.tensors)
    shards[name.ends_with("_inv") ? "b.safetensors" : "a.safetensors"].tensors.emplace(name,
                                                                                       tensor);
  const std::string model = folder_ / "model", small = folder_ / "small", bf16 = folder_ / "bf16";
  write_shards(model, shards);
  write_text(model + "/config.json",
             R"({"num_hidden_layers": 1, "quantization_config": {"quant_method": "fp8",)"
             R"( "weight_block_size": [16, 32]}})");
  const auto quantized = quantize_with_scalars(model, small, {});
  ASSERT_TRUE(quantized) << quantized.error().message();
  const auto config = nlohmann::json::parse(text_of(small + "/config.json"));
  EXPECT_EQ(config["quantization_config"]["quant_method"], "modelopt");
  EXPECT_EQ(config["quantization_config"]["ignore"],
            nlohmann::json({"lm_head", "model.embed_tokens", "mtp.*"}));
  EXPECT_EQ(quantized->quantized, 1u);
  const auto decoded = dequantize_with_scalars(model, bf16, DType::bf16);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(nlohmann::json::parse(text_of(bf16 + "/config.json")),
            nlohmann::json::parse(R"({"num_hidden_layers": 1})"));
  EXPECT_EQ(text_of(bf16 + "/" + kIndexName).find("_inv"), std::string::npos);
  EXPECT_EQ(dequantize_with_scalars(model, folder_ / "none").error().code,
            ErrorCode::value_missing);
}

}  // namespace
}  // namespace diecast::testing
