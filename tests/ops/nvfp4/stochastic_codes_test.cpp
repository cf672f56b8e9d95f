// stochastic_pair() of templates/device/blocks/stochastic.h, in this processor's arithmetic: it has
// the reference's codes. By itself a sample, with the magnitudes beside every 512th; with
// DIECAST_EXHAUSTIVE=1 all below 8.
#include <diecast/ops/reference/stochastic.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "how_many.h"

namespace diecast {
namespace {

// As an f16, cut off: |y| * 2^-14 + added, below 2^15.
std::uint32_t f16_bits(float magnitude, double added) {
  const double sum = static_cast<double>(magnitude) * 0x1p-14 + added;
  if (sum < 0x1p-14) return static_cast<std::uint32_t>(sum * 0x1p24);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  return static_cast<std::uint32_t>((bits >> 42) - (std::uint64_t{1023 - 15} << 10));
}

bool is_right(std::uint32_t word, double added) {
  const auto magnitude = std::bit_cast<float>(word);
  const std::uint32_t pair = std::min(f16_bits(magnitude, added), 0x0E00u);
  const unsigned carries = std::min((513 - pair % 512) / 2, 255u);  // the least byte that does
  for (const unsigned random : {0u, carries - 1, carries, 255u}) {
    if ((pair + 2 * random) >> 9 != reference::stochastic_e2m1(magnitude, random)) return false;
  }
  return true;
}

TEST(StochasticCodes, AreTheReferencesForEveryMagnitude) {
  const bool all = testing::exhaustive();
  const auto end = std::bit_cast<std::uint32_t>(8.0f);
  for (std::uint32_t word = 0; word < end; word += all ? 1 : 4093) {
    ASSERT_TRUE(is_right(word, 0x1p-40)) << std::bit_cast<float>(word);
  }
  for (int i = 1; i < 8 * 512; ++i) {
    const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>(i) / 512);
    for (std::uint32_t word = middle - 70; word <= middle + 70; ++word) {
      ASSERT_TRUE(is_right(word, 0x1p-40)) << std::bit_cast<float>(word);
    }
  }
}

// 9 / 512 less 2^-29 and 247 / 512 come to 1/2, rounded: the test can fail.
TEST(StochasticCodes, NeedWhatIsAdded) {
  const auto word = std::bit_cast<std::uint32_t>(9.0f / 512) - 1;
  EXPECT_TRUE(is_right(word, 0x1p-40));
  EXPECT_FALSE(is_right(word, 0));
  EXPECT_FALSE(is_right(std::bit_cast<std::uint32_t>(9.0f / 512) - 12, 0x1p-39));
}

}  // namespace
}  // namespace diecast
