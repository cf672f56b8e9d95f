// Models of four bits: MXFP4 becomes NVFP4 without rounding, INT4 is quantized as the numbers that
// it stands for.
#include <checkpoint/convert_fixture.h>
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace diecast::testing {
namespace {

const std::string kMlp = "model.layers.0.mlp.";
constexpr std::uint64_t kRows = 8, kCols = 128;

class PackedSource : public Convert {
 protected:
  std::string random_bytes(std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
      seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
      out.push_back(static_cast<char>(seed_ >> 56));
    }
    return out;
  }
  // gate_proj and up_proj, which share a scale, with exponents from `low` to `high`.
  TestFile mxfp4(int low, int high, bool deepseek) {
    TestFile file;
    file.metadata = {{"format", "pt"}};
    for (const std::string role : {"gate_proj", "up_proj"}) {
      std::string scales;
      for (std::uint64_t i = 0; i < kRows * kCols / 32; ++i)
        scales.push_back(static_cast<char>(127 + low + static_cast<int>(i) % (high - low + 1)));
      const TestTensor codes{
          deepseek ? "I8" : "U8", {kRows, kCols / 2}, random_bytes(kRows * kCols / 2)};
      const TestTensor exponents{deepseek ? "F8_E8M0" : "U8", {kRows, kCols / 32}, scales};
      file.tensors[kMlp + role + (deepseek ? ".weight" : ".weight_packed")] = codes;
      file.tensors[kMlp + role + (deepseek ? ".scale" : ".weight_scale")] = exponents;
    }
    return file;
  }
  QuantizeOptions options_;
  std::uint64_t seed_ = 1;
};

TEST_F(PackedSource, Mxfp4IsCastWithoutRounding) {
  for (const bool deepseek : {false, true}) {
    for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{32}}) {
      SCOPED_TRACE(cat(deepseek, " ", piece));
      const TestFile file = mxfp4(-21, -4, deepseek);  // as far apart as E4M3's scales
      const Plan plan = plan_quantize(header(file), options_).value();
      const TestFile out = converted(file, plan, piece);
      EXPECT_EQ(report_.cast_blocks, 2 * kRows * kCols / 16);
      EXPECT_EQ(report_.exact_blocks, report_.cast_blocks);
      EXPECT_EQ(out.tensors.size(), 8u);
      for (const std::string role : {"gate_proj", "up_proj"}) {
        EXPECT_EQ(out.tensors.at(kMlp + role + ".weight").bytes,
                  file.tensors.at(kMlp + role + (deepseek ? ".weight" : ".weight_packed")).bytes);
        EXPECT_EQ(out.tensors.at(kMlp + role + ".weight_scale_2").bytes,
                  scalar_bytes(std::ldexp(1.0f, -12)));
      }
      // To the bit what was there.
      const Plan numbers = plan_dequantize(header(file), DType::f32).value();
      const TestFile before = converted(file, numbers);
      const TestFile after = converted(out, plan_dequantize(header(out), DType::f32).value());
      EXPECT_EQ(before.tensors, after.tensors);
    }
  }
}

TEST_F(PackedSource, Mxfp4BeyondTheRangeOfScalesIsRoundedAndCounted) {
  const TestFile file = mxfp4(-22, -4, false);
  const TestFile out = converted(file, plan_quantize(header(file), options_).value());
  EXPECT_LT(report_.exact_blocks, report_.cast_blocks);
  EXPECT_GT(report_.exact_blocks, report_.cast_blocks / 2);
  const TestFile before = converted(file, plan_dequantize(header(file), DType::f32).value());
  const TestFile after = converted(out, plan_dequantize(header(out), DType::f32).value());
  for (const auto& [name, tensor] : before.tensors) {
    const auto want = floats_of(tensor), got = floats_of(after.tensors.at(name));
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_LE(std::abs(want[i] - got[i]), std::ldexp(1.0f, -21)) << name << " " << i;
  }
}

TEST_F(PackedSource, AnMxfp4ScaleThatIsNoNumberIsRefusedOrCounted) {
  TestFile bad = mxfp4(0, 1, false);
  bad.tensors.at(kMlp + "up_proj.weight_scale").bytes[3] = '\xFF';
  const Plan plan = plan_quantize(header(bad), options_).value();
  const auto refused = convert(Checkpoint::open(in_).value(), plan, out_, scalar_kernels());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::nonfinite_values);
  EXPECT_FALSE(std::filesystem::exists(out_));
  options_.allow_nonfinite = true;
  const TestFile out = converted(bad, plan_quantize(header(bad), options_).value());
  ASSERT_EQ(report_.nonfinite.size(), 1u);
  EXPECT_EQ(report_.nonfinite[0].name, kMlp + "up_proj.weight");
  EXPECT_EQ(report_.nonfinite[0].nan, 32u);
  const std::string& scales = out.tensors.at(kMlp + "up_proj.weight_scale").bytes;
  EXPECT_EQ(std::ranges::count(scales, '\x7F'), 2);
  EXPECT_EQ(scales.substr(6, 2), "\x7F\x7F");
}

TEST_F(PackedSource, Int4IsQuantizedAsTheNumbersThatItStandsFor) {
  TestFile file, plain;
  file.metadata = plain.metadata = {{"format", "pt"}};
  for (const std::string& module : {kMlp + "down_proj", std::string("lm_head")}) {
    const std::string words = random_bytes(kRows * kCols / 2);
    std::vector<float> values;
    std::string scales;
    for (std::uint64_t i = 0; i < kRows * kCols; ++i) {
      const auto byte = static_cast<std::uint8_t>(words[i / 2]);
      const float scale = std::ldexp(1.0f, static_cast<int>(i / 32 % 7) - 5);
      values.push_back(static_cast<float>((i % 2 == 0 ? byte & 15 : byte >> 4) - 8) * scale);
      std::uint32_t bits;
      std::memcpy(&bits, &scale, 4);
      if (i % 32 == 0) scales.append(reinterpret_cast<const char*>(&bits) + 2, 2);
    }
    file.tensors[module + ".weight_packed"] = {"I32", {kRows, kCols / 8}, words};
    file.tensors[module + ".weight_scale"] = {"BF16", {kRows, kCols / 32}, scales};
    file.tensors[module + ".weight_shape"] = {"I32", {2}, std::string(8, '\0')};
    plain.tensors[module + ".weight"] = floats({kRows, kCols}, values);
  }
  for (const std::uint64_t piece : {std::uint64_t{32} << 20, std::uint64_t{64}}) {
    const TestFile out = converted(file, plan_quantize(header(file), options_).value(), piece);
    TestFile want = converted(plain, plan_quantize(header(plain)).value(), piece);
    EXPECT_EQ(out.tensors.at("lm_head.weight").dtype, "BF16");
    want.tensors.at("lm_head.weight") = out.tensors.at("lm_head.weight");
    EXPECT_EQ(out.tensors, want.tensors);
    const Plan numbers = plan_dequantize(header(file), DType::f32).value();
    EXPECT_EQ(converted(file, numbers, piece).tensors, plain.tensors);
  }
}

// Eight bits look like four of twice the row length.
TEST_F(PackedSource, IntegersOfOtherBitsAreRefused) {
  TestFile file;
  const std::string down = kMlp + "down_proj";
  file.tensors[down + ".weight_packed"] = {
      "I32", {kRows, kCols / 8}, std::string(kRows * kCols / 2, '1')};
  file.tensors[down + ".weight_scale"] = {
      "BF16", {kRows, kCols / 32}, std::string(kRows * kCols / 16, '1')};
  const auto model = [](const std::string& weights) {
    return parse_model_config(
        cat(R"({"quantization_config": {"quant_method": "compressed-tensors", )",
            R"("format": "pack-quantized", "config_groups": )",
            R"({"group_0": {"weights": {"type": "int", )", weights, "}}}}}"));
  };
  const auto expect_refused = [&](const std::string& weights, std::string_view what) {
    options_.model = model(weights);
    const std::string error =
        cat("diecast: not_supported: \"", down,
            ".weight\" is packed, and the group \"group_0\" of the model's config has ", what,
            "\n  fix: give a model whose integers have 4 bits and are symmetric");
    EXPECT_EQ(plan_quantize(header(file), options_).error().message(), error);
    EXPECT_EQ(plan_dequantize(header(file), DType::f32, options_.model).error().message(), error);
  };
  expect_refused(R"("num_bits": 8, "symmetric": true)", "integers of 8 bits");
  expect_refused(R"("num_bits": "4")", "integers of a number of bits that is no number");
  expect_refused(R"("num_bits": 4, "symmetric": false)", "integers that are not symmetric");
  for (const char* size : {"0", "-2", "0.5", "1e300", "\"32\"", "[32]", "{}", "true"})
    expect_refused(cat(R"("group_size": )", size), "a group_size that is no positive number");
  options_.model = model(R"("num_bits": 4, "symmetric": true)");
  EXPECT_TRUE(plan_dequantize(header(file), DType::f32, options_.model).ok());
}

// A row of 128 with four scales.
TEST_F(PackedSource, IntegersInGroupsOfAnotherSizeThanTheConfigSaysAreRefused) {
  const std::string down = kMlp + "down_proj";
  const auto header = header_of({{down + ".weight_packed", StoredDType::i32, {kRows, 16}},
                                 {down + ".weight_scale", StoredDType::bf16, {kRows, 4}}});
  const auto error_of = [&](const std::string& groups) -> std::string {
    options_.model =
        parse_model_config(cat(R"({"quantization_config": {"quant_method": "compressed-tensors", )",
                               R"("format": "pack-quantized", "config_groups": {)", groups, "}}}"));
    const auto plan = plan_quantize(header, options_);
    const auto back = plan_dequantize(header, DType::f32, options_.model);
    EXPECT_EQ(plan.ok(), back.ok());
    return plan ? "" : plan.error().message();
  };
  const std::string of_32 = R"("a": {"weights": {"type": "int", "group_size": 32}})",
                    of_64 = R"("b": {"weights": {"type": "int", "group_size": 64}})",
                    open = R"("c": {"weights": {"type": "int"}})",
                    rows = R"("d": {"weights": {"type": "int", "strategy": "channel"}})",
                    whole = R"("e": {"weights": {"type": "int", "group_size": -1}})";
  const auto refused = [&](std::string_view said) {
    return cat("diecast: file_corrupt: \"", down,
               ".weight_scale\" has a scale for each 32 of a row of 128, and the model's config "
               "says ",
               said,
               "\n  fix: write or download the checkpoint again, with the config.json that was "
               "made with it");
  };
  for (const std::string& fits : {of_32, of_64 + "," + of_32, of_64 + "," + open, open})
    EXPECT_EQ(error_of(fits), "") << fits;
  EXPECT_EQ(error_of(of_64), refused("a group_size of 64"));
  EXPECT_EQ(error_of(rows), refused("one for all of it"));
  EXPECT_EQ(error_of(whole), refused("one for all of it"));
  EXPECT_EQ(error_of(of_64 + "," + rows), refused("a group_size of 64"));
}

TEST_F(PackedSource, IntegersOfAnotherShapeThanTheySayAreRefused) {
  const std::string down = kMlp + "down_proj";
  const auto said = [&](const TestTensor& shape) {
    TestFile file;
    file.tensors[down + ".weight_packed"] = {"I32", {kRows, 16}, std::string(kRows * 64, '1')};
    file.tensors[down + ".weight_scale"] = floats({kRows, 1}, std::vector<float>(kRows, 1));
    file.tensors[down + ".weight_shape"] = shape;
    write_text(in_, encode(file));
    const Checkpoint checkpoint = Checkpoint::open(in_).value();
    const auto plan = plan_quantize(checkpoint);
    const auto back = plan_dequantize(checkpoint, DType::f32);
    EXPECT_EQ(plan.ok() ? "" : plan.error().message(), back.ok() ? "" : back.error().message());
    EXPECT_TRUE(plan || plan.error().code == ErrorCode::file_corrupt);
    return plan ? "" : plan.error().what;
  };
  const auto i64 = [](std::array<std::int64_t, 2> shape) {
    return TestTensor{"I64", {2}, {reinterpret_cast<const char*>(shape.data()), 16}};
  };
  const auto i32 = [](std::array<std::int32_t, 2> shape) {
    return TestTensor{"I32", {2}, {reinterpret_cast<const char*>(shape.data()), 8}};
  };
  const std::string name = cat("\"", down, ".weight_shape\" ");
  EXPECT_EQ(said(i64({8, 128})), "");
  EXPECT_EQ(said(i32({8, 128})), "");
  EXPECT_EQ(said(i64({8, 121})),
            cat(name, "says [8, 121], and \"", down, ".weight_packed\" holds [8, 128]"));
  EXPECT_EQ(said(i32({128, 8})),
            cat(name, "says [128, 8], and \"", down, ".weight_packed\" holds [8, 128]"));
  EXPECT_NE(said(i64({-8, 128})), "");
  EXPECT_EQ(said({"I64", {3}, std::string(24, '\1')}),
            name + "I64 [3] is not two numbers in I64 or I32");
  EXPECT_EQ(said(floats({2}, {8, 128})), name + "F32 [2] is not two numbers in I64 or I32");
}

}  // namespace
}  // namespace diecast::testing
