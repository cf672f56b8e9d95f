// Profiles and four over six of a checkpoint: what a plan takes, and the scale_2 of an amax.
#include <checkpoint/plan_fixture.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace diecast::testing {
namespace {

std::uint32_t bits(float value) {
  std::uint32_t out;
  std::memcpy(&out, &value, sizeof out);
  return out;
}

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Nvfp4Scheme, Scale2IsTheReciprocalOfSOrAProductByProfile) {
  const Nvfp4Scheme te, pr546{Profile::pr546}, modelopt{Profile::modelopt},
      torchao{Profile::torchao}, te_ref{Profile::te_ref};
  // amax, 1 / (2688 / amax), amax * fl(1 / 2688)
  const struct {
    float amax;
    std::uint32_t inverse, product;
  } rows[] = {{1.03125f, 0x39C92493, 0x39C92493},
              {1.0f, 0x39C30C31, 0x39C30C31},
              {1.015625f, 0x39C61861, 0x39C61862},
              {1e-36f, 0x00200000, 0x00040D0D}};
  for (const auto& row : rows) {
    EXPECT_EQ(bits(decode_scale(te, row.amax)), row.inverse) << row.amax;
    EXPECT_EQ(bits(decode_scale(pr546, row.amax)), row.inverse) << row.amax;
    EXPECT_EQ(bits(decode_scale(te_ref, row.amax)), row.inverse) << row.amax;
    EXPECT_EQ(bits(decode_scale(modelopt, row.amax)), row.product) << row.amax;
    EXPECT_EQ(bits(decode_scale(torchao, row.amax)), row.product) << row.amax;
  }
}

TEST(Nvfp4Scheme, AnAllZeroWeightExportsOneWhereTheProfileDividesBySAndZeroElsewhere) {
  EXPECT_EQ(decode_scale({}, 0.0f), 1.0f);  // not 2^-128, as of a quotient that saturates
  EXPECT_EQ(decode_scale({Profile::pr546}, 0.0f), 1.0f);
  EXPECT_EQ(decode_scale({Profile::modelopt}, 0.0f), 0.0f);
  EXPECT_EQ(decode_scale({}, kInf), 1.0f);
  EXPECT_EQ(decode_scale({Profile::modelopt}, kInf), kInf);
}

TEST(Nvfp4Scheme, TheTorchReferencesAllZeroWeightExportsTheReciprocalOfTheLargestFloat) {
  EXPECT_EQ(decode_scale({Profile::te_ref}, 0.0f), 0x1p-128f);
  EXPECT_EQ(decode_scale({Profile::te_ref}, kInf), 1.0f);
}

TEST(Nvfp4Scheme, FlashinferStoresZeroForARowOfZerosThatItQuantizesUnderTheLargestFloat) {
  for (const Profile profile : {Profile::flashinfer_exact, Profile::flashinfer_fast}) {
    EXPECT_EQ(bits(decode_scale({profile}, 0.0f)), 0u);
    EXPECT_EQ(bits(decode_scale({profile}, 0x1p-130f)), 0u);  // a zero, as every subnormal
    EXPECT_EQ(bits(decode_scale({profile}, 1e-36f)), 0u);     // the scale itself is subnormal
  }
  EXPECT_EQ(bits(decode_scale({Profile::flashinfer_exact}, 1.015625f)), 0x39C61861u);
  EXPECT_EQ(bits(decode_scale({Profile::flashinfer_fast}, 1.015625f)), 0x39C61862u);
  EXPECT_EQ(decode_scale({Profile::flashinfer_exact}, kInf), 1.0f);
  EXPECT_EQ(decode_scale({Profile::flashinfer_fast}, kInf), kInf);
}

TEST(Nvfp4Scheme, ABoundOf256ChangesTheScale) {
  const Nvfp4Scheme adaptive{Profile::te, FourOverSix::mae, 256};
  EXPECT_EQ(decode_scale(adaptive, 6.0f), 1.0f / 256);
  EXPECT_EQ(bits(decode_scale({Profile::modelopt, FourOverSix::off, 256}, 1.0f)), 0x3A2AAAABu);
}

TEST(Nvfp4Scheme, NaNIsKeptByProfilesWhoseAmaxKeepsIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Profile profile :
       {Profile::pr546, Profile::modelopt, Profile::torchao, Profile::te_ref}) {
    EXPECT_TRUE(decode_scale({profile}, nan) != decode_scale({profile}, nan));
  }
}

std::string refused(const Nvfp4Scheme& scheme) {
  QuantizeOptions options;
  options.scheme = scheme;
  const auto plan =
      plan_quantize(header_of({{"l.0.a.weight", StoredDType::bf16, {16, 16}}}), options);
  return plan ? plan->outputs[0].metadata.at(std::string(kProfileKey)) : plan.error().message();
}

TEST(Nvfp4Scheme, APlanNamesItsProfileAndRefusesWhatThatHasNot) {
  EXPECT_EQ(refused({Profile::torchao}), "torchao");
  EXPECT_EQ(refused({Profile::te_ref}), "te_ref");
  EXPECT_EQ(refused({Profile::modelopt, FourOverSix::off, 256}), "modelopt");
  EXPECT_EQ(refused({Profile::te, FourOverSix::mse, 256}), "te");
  EXPECT_EQ(refused({Profile::te, FourOverSix::mse, 448}), "te");
  EXPECT_EQ(refused({Profile::pr546, FourOverSix::mae}),
            "diecast: not_supported: four over six under profile pr546\n"
            "  fix: --profile te has it");
  EXPECT_EQ(refused({Profile::te_fast}),
            "diecast: not_supported: a checkpoint under profile te_fast\n"
            "  fix: choose one of te, pr546, modelopt, torchao, te_ref");
  EXPECT_EQ(refused({Profile::flashinfer_exact}),
            "diecast: not_supported: a checkpoint under profile flashinfer_exact\n"
            "  fix: choose one of te, pr546, modelopt, torchao, te_ref");
  EXPECT_EQ(refused({Profile::te, FourOverSix::off, 256}),
            "diecast: not_supported: an E4M3 bound of 256 under profile te\n"
            "  fix: 448 always; 256 with four over six, or with --profile modelopt");
}

TEST(Nvfp4Scheme, TheMetadataHasFourOverSixAndTheBoundWhereTheyAreNotTheUsualOnes) {
  const auto metadata = [](const Nvfp4Scheme& scheme) {
    QuantizeOptions options;
    options.scheme = scheme;
    const Plan plan =
        plan_quantize(header_of({{"l.0.a.weight", StoredDType::bf16, {16, 16}}}), options).value();
    EXPECT_EQ(plan_dequantize(plan.outputs[0]).value().outputs[0].metadata,
              (Metadata{{"format", "pt"}}));
    Metadata out = plan.outputs[0].metadata;
    for (const std::string_view key :
         {std::string_view("format"), kFormatKey, kProfileKey, kDtypesKey})
      out.erase(std::string(key));
    return out;
  };
  EXPECT_EQ(metadata({}), Metadata{});
  EXPECT_EQ(metadata({Profile::te, FourOverSix::mse, 256}),
            (Metadata{{"diecast.four_over_six", "mse"}, {"diecast.e4m3_bound", "256"}}));
  EXPECT_EQ(metadata({Profile::te, FourOverSix::mae}),
            (Metadata{{"diecast.four_over_six", "mae"}}));
  EXPECT_EQ(metadata({Profile::modelopt, FourOverSix::off, 256}),
            (Metadata{{"diecast.e4m3_bound", "256"}}));
}

}  // namespace
}  // namespace diecast::testing
