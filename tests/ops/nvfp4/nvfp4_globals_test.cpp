// nvfp4_global_of_ordinary() of templates/device/nvfp4/nvfp4.h, in this processor's arithmetic: S
// and 1 / S are rounded once whichever of the floats beside 1 / amax a GPU's approximate reciprocal
// gives. The way is the same for every power of two, so amaxes from 1 to 2 are all there is to try:
// by itself every seventh; DIECAST_EXHAUSTIVE=1: all.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "how_many.h"

namespace diecast {
namespace {

constexpr float kOver2688 = 0x1.861862p-12f;

float corrected(float amax, float near) {
  const float encode = near * 2688.0f;
  return std::fma(std::fma(-amax, encode, 2688.0f), near, encode);
}

float inverse(float amax, float encode, float over) {
  const float decode = amax * over;
  return std::fma(std::fma(-encode, decode, 1.0f), decode, decode);
}

TEST(Nvfp4GlobalOfOrdinary, IsRoundedOnceForEveryMantissa) {
  const bool all = testing::exhaustive();
  for (std::uint32_t mantissa = 0; mantissa < 1u << 23; mantissa += all ? 1 : 7) {
    const auto amax = std::bit_cast<float>(127u << 23 | mantissa);
    const float encode = 2688.0f / amax;
    const auto nearest = std::bit_cast<std::uint32_t>(1.0f / amax);
    for (std::uint32_t near = nearest - 1; near <= nearest + 1; ++near) {
      ASSERT_EQ(corrected(amax, std::bit_cast<float>(near)), encode) << amax;
    }
    ASSERT_EQ(inverse(amax, encode, kOver2688), 1.0f / encode) << amax;
  }
}

// From further away, a thousandth or an eighth of one, a correction is not enough: the test can
// fail.
TEST(Nvfp4GlobalOfOrdinary, NeedsANearBeginning) {
  int wrong = 0, wrong_encode = 0;
  for (std::uint32_t mantissa = 0; mantissa < 1u << 23; mantissa += 4099) {
    const auto amax = std::bit_cast<float>(127u << 23 | mantissa);
    const float encode = 2688.0f / amax;
    wrong += inverse(amax, encode, kOver2688 * 1.000125f) != 1.0f / encode;
    wrong_encode += corrected(amax, 1.001f / amax) != encode;
  }
  EXPECT_GT(wrong, 0);
  EXPECT_GT(wrong_encode, 0);
}

}  // namespace
}  // namespace diecast
