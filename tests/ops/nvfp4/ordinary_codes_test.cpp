// ordinary_pair() of templates/device/nvfp4/four_over_six.h, in this processor's arithmetic:
// magnitudes below 7, times 2^-14, round to E2M1's grid as the reference does. By itself a sample,
// with every magnitude near a midpoint, a power of two and 7; DIECAST_EXHAUSTIVE=1: all.
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "how_many.h"

namespace diecast {
namespace {

constexpr float kGrid[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
constexpr float kNear[] = {0.25f, 0.5f, 0.75f, 1.0f, 1.25f, 1.5f, 1.75f,
                           2.0f,  2.5f, 3.0f,  3.5f, 4.0f,  5.0f, 6.0f};

float rounded(float magnitude, float least) {
  const float y = magnitude * 0x1p-14f;
  const float k = std::max(y, least) * 4194303.0f;
  return (k + y) - k;
}

bool is_right(std::uint32_t word, float least) {
  const auto magnitude = std::bit_cast<float>(word);
  return rounded(magnitude, least) == kGrid[reference::encode_e2m1(magnitude)] * 0x1p-14f;
}

TEST(OrdinaryCodes, AreTheReferencesForEveryMagnitudeBelowSeven) {
  const bool all = testing::exhaustive();
  const auto end = std::bit_cast<std::uint32_t>(7.0f);
  for (std::uint32_t word = 0; word < end; word += all ? 1 : 1021) {
    ASSERT_TRUE(is_right(word, 0x1.000008p-14f)) << std::bit_cast<float>(word);
  }
  for (const float near : kNear) {
    const auto middle = std::bit_cast<std::uint32_t>(near);
    for (std::uint32_t word = middle - 2048; word <= middle + 2048; ++word) {
      ASSERT_TRUE(is_right(word, 0x1.000008p-14f)) << std::bit_cast<float>(word);
    }
  }
  for (std::uint32_t word = end - 2048; word < end; ++word) {
    ASSERT_TRUE(is_right(word, 0x1.000008p-14f)) << std::bit_cast<float>(word);
  }
}

// Below 2^-14 and a little the sum's last place would be half a step: the test can fail.
TEST(OrdinaryCodes, NeedsAMaximumAboveThePowerOfTwo) {
  EXPECT_TRUE(is_right(std::bit_cast<std::uint32_t>(0.3f), 0x1.000008p-14f));
  EXPECT_FALSE(is_right(std::bit_cast<std::uint32_t>(0.3f), 0x1p-14f));
}

}  // namespace
}  // namespace diecast
