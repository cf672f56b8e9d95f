// Scales of quantized weights that are missing, or that no number can have been divided by.
#include <checkpoint/convert_fixture.h>
#include <checkpoint/plan_fixture.h>
#include <diecast/base/text.h>

#include <limits>

namespace diecast::testing {
namespace {

const std::string kMlp = "model.layers.0.mlp.";
const std::string kDown = kMlp + "down_proj";
const std::string kFused = kMlp + "experts.gate_up_proj";

ModelConfig saying_fp8() {
  return parse_model_config(R"({"quantization_config": {"quant_method": "fp8"}})");
}

TEST(MissingScales, AreNamedBeforeAnythingIsWritten) {
  using enum StoredDType;
  const std::string of_weights = cat("there is no \"", kDown, ".weight_scale_inv\" and no \"",
                                     kDown, ".weight_scale\" and no \"", kDown, ".scale\"");
  const std::pair<TensorInfo, std::string> cases[] = {
      {{kDown + ".weight", f8_e4m3, {32, 64}}, of_weights},
      {{kDown + ".weight", f8_e5m2, {32, 64}}, of_weights},
      {{kDown + ".weight", i8, {32, 64}}, of_weights},
      {{kDown + ".weight", u8, {32, 64}}, of_weights},
      {{kDown + ".weight_packed", i32, {32, 8}}, "there is no \"" + kDown + ".weight_scale\""},
      {{kDown + ".qweight", i32, {8, 32}}, "there is no \"" + kDown + ".scales\""},
      {{kFused, f8_e4m3, {2, 32, 64}}, "and no \"" + kFused + "_scale_inv\""},
      {{kFused + "_blocks", u8, {2, 32, 2, 16}}, "there is no \"" + kFused + "_scales\""}};
  QuantizeOptions options;
  options.model = saying_fp8();
  for (const auto& [tensor, names] : cases) {
    SCOPED_TRACE(cat(tensor.name, " ", stored_dtype_name(tensor.dtype)));
    const auto header = header_of({tensor, {kMlp + "up_proj.weight", bf16, {32, 64}}});
    const auto plan = plan_quantize(header, options);
    const auto back = plan_dequantize(header, DType::bf16, options.model);
    ASSERT_FALSE(plan || back);
    EXPECT_EQ(plan.error().code, ErrorCode::file_corrupt);
    EXPECT_NE(plan.error().what.find(names), std::string::npos) << plan.error().what;
    EXPECT_EQ(back.error().message(), plan.error().message());
    QuantizeOptions forced = options;
    forced.force = true;
    const Plan all = plan_quantize(header, forced).value();
    EXPECT_EQ(planned(all, tensor.name).action, Action::copy);
  }
  EXPECT_EQ(plan_quantize(header_of({cases[0].first}), options).error().message(),
            cat("diecast: file_corrupt: \"", kDown,
                ".weight\" is F8_E4M3 and has no scales: ", of_weights,
                "\n  fix: add the file that has them, or its line in the index; without scales "
                "nobody knows the values"));
}

TEST(MissingScales, AreNotMissedByWhatIsNoQuantizedWeight) {
  using enum StoredDType;
  const TensorInfo weight{kMlp + "up_proj.weight", bf16, {32, 64}};
  for (const TensorInfo& tensor : {TensorInfo{"model.norm.weight", f8_e4m3, {64}},
                                   TensorInfo{kDown + ".k_cache", f8_e4m3, {4, 4}},
                                   TensorInfo{kDown + ".weight", u8, {32, 64}},
                                   TensorInfo{kDown + ".weight", f8_e4m3, {0, 64}}})
    EXPECT_TRUE(plan_quantize(header_of({tensor, weight}))) << tensor.name;
}

TEST(MisfittingScales, OfPackedWeightsAreRefused) {
  using enum StoredDType;
  const TensorInfo weight{kMlp + "up_proj.weight", bf16, {32, 64}};
  const TensorInfo packed{kDown + ".weight_packed", u8, {32, 32}},
      words{kDown + ".weight_packed", i32, {32, 8}}, pairs{kDown + ".weight", i8, {32, 32}},
      experts{kFused + "_blocks", u8, {2, 32, 2, 16}};
  const std::string scales = kDown + ".weight_scale", of_pairs = kDown + ".scale";
  for (const auto& [codes, scale] :
       {std::pair(packed, TensorInfo{scales, u8, {32, 3}}),
        std::pair(packed, TensorInfo{scales, u8, {31, 2}}),
        std::pair(words, TensorInfo{scales, bf16, {32, 3}}),
        std::pair(words, TensorInfo{scales, bf16, {2, 32}}),
        std::pair(pairs, TensorInfo{of_pairs, f8_e8m0, {32, 1}}),
        std::pair(experts, TensorInfo{kFused + "_scales", u8, {2, 32}})}) {
    const auto header = header_of({codes, scale, weight});
    const auto plan = plan_quantize(header);
    const auto back = plan_dequantize(header, DType::bf16);
    ASSERT_FALSE(plan || back);
    EXPECT_EQ(plan.error().message(),
              cat("diecast: file_corrupt: the scales \"", scale.name, "\" ",
                  stored_dtype_name(scale.dtype), " ", shape_text(scale.shape), " do not fit \"",
                  codes.name, "\" ", stored_dtype_name(codes.dtype), " ", shape_text(codes.shape),
                  "\n  fix: write or download the checkpoint again"));
    EXPECT_EQ(back.error().message(), plan.error().message());
  }
}

// A config that was left over from the model that this one was made of.
TEST(MissingScales, OfAModelWithoutCodesAreNoted) {
  QuantizeOptions options;
  options.model = saying_fp8();
  const std::string note =
      "no weight has scales, though the model's config has quantization_config, which says "
      "\"fp8\": that is taken out";
  const auto notes = [&](const SafetensorsHeader& header) {
    return plan_quantize(header, options).value().notes;
  };
  EXPECT_EQ(notes(weights({kDown + ".weight"})), std::vector{note});
  EXPECT_EQ(notes(header_of({{kDown + ".weight", StoredDType::f8_e4m3, {32, 64}},
                             {kDown + ".weight_scale", StoredDType::f32, {}}})),
            std::vector<std::string>());
}

// A weight of 4 x 32 with a scale a row, all of its codes 1, and those of row 2 zeros.
class BadScales : public Convert, public ::testing::WithParamInterface<bool> {
 protected:
  TestFile model(float scale) {
    const bool int4 = GetParam();
    std::string codes = int4 ? std::string(64, '\x99') : std::string(128, '\x38');
    const std::string zeros =
        int4 ? std::string(16, '\x88') : std::string(16, '\x00') + std::string(16, '\x80');
    codes.replace(2 * zeros.size(), zeros.size(), zeros);
    TestFile file;
    file.tensors[kDown + (int4 ? ".weight_packed" : ".weight")] =
        int4 ? TestTensor{"I32", {4, 4}, codes} : TestTensor{"F8_E4M3", {4, 32}, codes};
    file.tensors[kDown + ".weight_scale"] = floats({4, 1}, {1, 1, 1, 1});
    file.tensors[kDown + ".weight_scale"].bytes.replace(row_ * 4, 4, scalar_bytes(scale));
    return file;
  }
  Result<ConvertReport> made(float scale, bool quantize, bool allow = false) {
    std::filesystem::remove(out_);
    write_text(in_, encode(model(scale)));
    const Checkpoint checkpoint = Checkpoint::open(in_).value();
    QuantizeOptions options;
    options.allow_nonfinite = allow;
    Plan plan = quantize ? plan_quantize(checkpoint, options).value()
                         : plan_dequantize(checkpoint, DType::f32).value();
    plan.allow_nonfinite = allow;
    return convert(checkpoint, plan, out_, scalar_kernels());
  }
  std::size_t row_ = 1;
};

TEST_P(BadScales, EndTheRunBeforeTheOutputHasAName) {
  for (const bool quantize : {true, false}) {
    for (const auto& [scale, why] : std::vector<std::pair<float, std::string>>{
             {0.0f, "is zero, and values under it are not"},
             {-0.0f, "is zero, and values under it are not"},
             {std::numeric_limits<float>::quiet_NaN(), "is not finite"},
             {std::numeric_limits<float>::infinity(), "is not finite"}}) {
      const auto refused = made(scale, quantize);
      ASSERT_FALSE(refused) << scale;
      EXPECT_EQ(refused.error().what, cat("scale 1 of \"", kDown, ".weight_scale\" ", why));
      EXPECT_EQ(refused.error().fix, "write or download the checkpoint again");
      EXPECT_FALSE(std::filesystem::exists(out_));
    }
  }
}

TEST_P(BadScales, MayBeZeroOverZeros) {
  row_ = 2;
  for (const float scale : {0.0f, -0.0f, 3.0f}) {
    ASSERT_TRUE(made(scale, true));
    ASSERT_TRUE(made(scale, false));
    std::vector<float> values = floats_of(decode(text_of(out_)).tensors.at(kDown + ".weight"));
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], i / 32 == 2 ? 0.0f : 1.0f) << i;
  }
}

TEST_P(BadScales, ThatAreNotFiniteMayBeAllowedAndAreCounted) {
  for (const bool quantize : {true, false}) {
    const auto report = made(std::numeric_limits<float>::infinity(), quantize, true);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->nonfinite.size(), 1u);
    EXPECT_EQ(report->nonfinite[0].infinite, 32u);
  }
}

// As AutoRound makes them of integers.
TEST_P(BadScales, MayBeNegativeOfIntegersAlone) {
  const bool int4 = GetParam();
  for (const bool quantize : {true, false}) {
    const auto report = made(-0.5f, quantize);
    EXPECT_EQ(report.ok(), int4);
    if (report) continue;
    EXPECT_EQ(report.error().what, cat("scale 1 of \"", kDown, ".weight_scale\" is negative"));
  }
  if (!int4) return;
  EXPECT_EQ(floats_of(decode(text_of(out_)).tensors.at(kDown + ".weight"))[32], -0.5f);
}

INSTANTIATE_TEST_SUITE_P(OfFp8AndInt4, BadScales, ::testing::Bool());

}  // namespace
}  // namespace diecast::testing
