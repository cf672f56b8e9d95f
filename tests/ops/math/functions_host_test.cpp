// The functions of diecast/device/math on this processor: their errors. A sample of all floats and
// every number of 16 bits; with DIECAST_EXHAUSTIVE=1 all 2^32 floats.
#include <bit>

#include "how_many.h"
#include "ops/host_device_test.h"
#include "ops/math/functions.h"

namespace diecast::math_test {
namespace {

class MathOnHost : public HostDeviceTest {
 protected:
  void expect_all_within_bounds(DType type) {
    Functions on(device_, type);
    for (std::size_t function = 0; function < functions().size(); ++function)
      expect_within_bounds(on, function, numbers_apart(1, 16), testing::exhaustive());
  }
};

TEST_F(MathOnHost, OfBf16IsTheNearestOrNextToAHalf) { expect_all_within_bounds(DType::bf16); }
TEST_F(MathOnHost, OfF16IsTheNearestOrNextToAHalf) { expect_all_within_bounds(DType::f16); }

class MathOnHostOfFloats : public MathOnHost, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(MathOnHostOfFloats, IsWithinItsBounds) {
  Functions on(device_, DType::f32);
  const Numbers numbers = testing::exhaustive() ? kAllFloats : numbers_apart(4093, 32);
  expect_within_bounds(on, GetParam(), numbers, testing::exhaustive());
}
TEST_P(MathOnHostOfFloats, HasTheSumThatGpusHave) {
  if (!testing::exhaustive()) GTEST_SKIP() << "minutes of a core; DIECAST_EXHAUSTIVE=1";
  EXPECT_EQ(Functions(device_, DType::f32).sum_of_all(GetParam()), functions()[GetParam()].sum);
}
INSTANTIATE_TEST_SUITE_P(Functions, MathOnHostOfFloats, every_function(), function_name);

// The check of all 2^32 floats found these to be the worst.
TEST_F(MathOnHost, IsWithinItsBoundsWhereItIsWorst) {
  Functions on(device_, DType::f32);
  const float worst[] = {
      -5.8491225f,   -126.4965f,    2861.9072f,    1.4127018f,      // exp exp2 log log2
      3.4028235e38f, 3.3929591e38f, -2.794678e26f, -1946879232.0f,  // sqrt rsqrt sin cos
      -0.062357374f, -4.157294f,    -5.9388933f,                    // tanh sigmoid silu
      -0.33384633f,  -2.977891f};                                   // gelu gelu_tanh
  for (std::size_t function = 0; function < std::size(worst); ++function) {
    const auto bits = std::bit_cast<std::uint32_t>(worst[function]);
    const Worst found = on.worst_error(function, {bits, 0, 1}, {0});
    const double bound = bound_of(function, DType::f32);
    EXPECT_LE(found.ulps, bound) << found.what;
    EXPECT_GT(found.ulps, bound - 0.2) << found.what;
  }
}

TEST_F(MathOnHost, PowHasTheSpecialCasesOfIeee754) {
  Functions on(device_, DType::f32);
  std::vector<std::uint32_t> special = {
      0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40400000,
      0xC0400000, 0x3F000000, 0xBF000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001,
      0x80000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x4B800000, 0x4B7FFFFF, 0xCB7FFFFF, 0x3FC00000};
  special.resize(32);
  const std::size_t pow = functions().size() - 1;
  for (const std::uint32_t x : special) {
    const Worst worst = on.worst_error(pow, {x, 0, 32}, special);
    EXPECT_LE(worst.ulps, bound_of(pow, DType::f32)) << worst.what;
  }
}

}  // namespace
}  // namespace diecast::math_test
