// The reference of ModelOpt's block scales and fake quantization, at numbers worked out by hand.
#include <diecast/ops/reference/fp4_fake.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/second_formulations.h"

namespace diecast::reference {
namespace {

using second::kInf;
using second::kNaN;

TEST(ReferenceFp4Fake, TheLargestBlockHasASixthOfItsAmaxAsScale) {
  EXPECT_EQ(fp4_scale(6.0f), 1.0f);
  EXPECT_EQ(fp4_scale(6.0f, 6.0f, Fp8Conversion::eager), 1.0f);
  EXPECT_EQ(fp4_scale(6.0f, 6.0f, Fp8Conversion::extension), 1.0f);
  // 1/448 of it is 1 in E4M3, 1/1000 is 0.448: 0.4375.
  EXPECT_EQ(fp4_scale(6.0f / 448, 6.0f, Fp8Conversion::extension), 1.0f / 448);
  EXPECT_EQ(fp4_scale(0.006f, 6.0f, Fp8Conversion::extension), 0.4375f * (1.0f / 448));
}

TEST(ReferenceFp4Fake, ASmallScaleMayBecomeZeroAndATinyTensorCountsAsOne) {
  EXPECT_EQ(fp4_scale(6e-6f, 6.0f, Fp8Conversion::eager), 0.0f);
  EXPECT_EQ(fp4_scale(6e-9f, 6e-9f, Fp8Conversion::eager), 0.0f);  // under 1, not under 1e-9
  EXPECT_EQ(fp4_scale(0.0f, 0.0f, Fp8Conversion::eager), 0.0f);
}

TEST(ReferenceFp4Fake, SaturatesAboveTheTensorsAmaxAndKeepsNaN) {
  EXPECT_EQ(fp4_scale(600.0f, 6.0f, Fp8Conversion::eager), 1.0f);
  EXPECT_EQ(fp4_scale(kInf, 6.0f, Fp8Conversion::eager), 1.0f);
  EXPECT_TRUE(std::isnan(fp4_scale(kNaN, 6.0f, Fp8Conversion::eager)));
  EXPECT_TRUE(std::isnan(fp4_scale(1.0f, kNaN, Fp8Conversion::eager)));
}

TEST(ReferenceFp4Fake, TheTwoConversionsDifferInTheLastBitOfSomeTensors) {
  int differ = 0;
  for (int mantissa = 0; mantissa < 128; ++mantissa) {
    const float amax = 1.0f + static_cast<float>(mantissa) / 128.0f;
    differ += fp4_scale(amax, amax, Fp8Conversion::eager) !=
              fp4_scale(amax, amax, Fp8Conversion::extension);
  }
  EXPECT_GT(differ, 0);
  EXPECT_LT(differ, 128);
}

TEST(ReferenceFp4Fake, DynamicScalesHaveAnAbsoluteThreshold) {
  EXPECT_EQ(fp4_dynamic_scale(6.0f, 2688.0f), 1.0f);  // gs = 1, s8 = 1
  EXPECT_EQ(fp4_dynamic_scale(12.0f, 2688.0f), 2.0f);
  EXPECT_EQ(fp4_dynamic_scale(1e6f, 2688.0f), 448.0f);
  EXPECT_EQ(fp4_dynamic_scale(3e-5f, 1e-4f), 1.0f);   // 5e-6 is below 1e-5
  EXPECT_LT(fp4_dynamic_scale(3e-4f, 1e-3f), 1e-4f);  // 5e-5 is not
  EXPECT_EQ(fp4_dynamic_scale(0.0f, 0.0f), 1.0f);
  EXPECT_EQ(fp4_dynamic_scale(1.0f, kNaN), 1.0f);  // gs = 1e-12
}

TEST(ReferenceFp4Fake, RoundsToTheGridAndSignsByComparison) {
  EXPECT_EQ(fp4_fake(1.25f, 1.0f), 1.0f);
  EXPECT_EQ(fp4_fake(-1.75f, 1.0f), -2.0f);
  EXPECT_EQ(fp4_fake(100.0f, 2.0f), 12.0f);
  EXPECT_FALSE(std::signbit(fp4_fake(-0.0f, 1.0f)));
  EXPECT_FALSE(std::signbit(fp4_fake(-0.1f, 1.0f)));
  EXPECT_EQ(fp4_fake(kNaN, 2.0f), -12.0f);
  EXPECT_EQ(fp4_fake_static(5.0f, 0.0f), 0.0f);
  EXPECT_EQ(fp4_fake_static(5.0f, kInf), 4.0f);
  EXPECT_EQ(fp4_fake_static(2.9f, kNaN), 3.0f);
}

}  // namespace
}  // namespace diecast::reference
