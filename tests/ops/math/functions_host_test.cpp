// The functions of diecast/device/math on this processor: their errors. A sample of all floats and
// every number of 16 bits; with DIECAST_EXHAUSTIVE=1 all 2^32 floats.

#include "how_many.h"
#include "ops/host_device_test.h"
#include "ops/math/functions.h"

namespace diecast::math_test {
namespace {

class MathOnHost : public HostDeviceTest {
 protected:
  // A stretch at a time of the numbers that begin with `first`, `step` apart, up to 2^bits.
  void expect_within_bounds(DType type, std::uint32_t step, int bits) {
    Functions on(device_, type);
    const std::uint64_t all = (std::uint64_t{1} << bits) / step;
    const auto y = exponents(std::min<std::uint64_t>(all, 1u << 24), type);
    for (std::size_t function = 0; function < functions().size(); ++function)
      for (std::uint64_t first = 0; first < all; first += y.size())
        ASSERT_EQ(
            worst_error(on, function, type, static_cast<std::uint32_t>(first * step), step, y), "");
  }
};

TEST_F(MathOnHost, OfFloatsIsWithinItsBounds) {
  const bool all = testing::exhaustive();
  expect_within_bounds(DType::f32, all ? 1 : 65521, 32);
}
TEST_F(MathOnHost, OfBf16IsTheNearestOrNextToAHalf) { expect_within_bounds(DType::bf16, 1, 16); }
TEST_F(MathOnHost, OfF16IsTheNearestOrNextToAHalf) { expect_within_bounds(DType::f16, 1, 16); }

TEST_F(MathOnHost, PowHasTheSpecialCasesOfIeee754) {
  Functions on(device_, DType::f32);
  const std::vector<std::uint32_t> special = {
      0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40400000,
      0xC0400000, 0x3F000000, 0xBF000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001,
      0x80000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x4B800000, 0x4B7FFFFF, 0xCB7FFFFF, 0x3FC00000};
  for (const std::uint32_t x : special)
    EXPECT_EQ(worst_error(on, functions().size() - 1, DType::f32, x, 0, special), "");
}

}  // namespace
}  // namespace diecast::math_test
