// ordinary_sum() of templates/device/nvfp4/ordinary_codes.h, and DIECAST_E2M1_SUM of e2m1_codes.h,
// which cuts off at 6 before, in this processor's arithmetic: what they make of magnitudes below 7
// ends in the reference's code less 8. By itself a sample, with every magnitude near a midpoint, a
// power of two and 7; DIECAST_EXHAUSTIVE=1: all.
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>

#include "how_many.h"

namespace diecast {
namespace {

constexpr float kBaseOfSums = 6291452.0f;
constexpr float kSumsNear[] = {0.25f, 0.5f, 0.75f, 1.0f, 1.25f, 1.5f, 1.75f,
                               2.0f,  2.5f, 3.0f,  3.5f, 4.0f,  5.0f, 6.0f};

bool ends_in_its_code(std::uint32_t word, float base) {
  const auto magnitude = std::bit_cast<float>(word);
  const auto part = std::bit_cast<float>(word & 0x40800000u);
  const float k = part * 4194303.0f + base;
  const std::uint32_t wanted = reference::encode_e2m1(magnitude) - 8u;
  return ((std::bit_cast<std::uint32_t>(k + magnitude) ^ wanted) & 0xFFFFFu) == 0;
}

TEST(OrdinarySums, EndInTheReferencesCodeForEveryMagnitudeBelowSeven) {
  const bool all = testing::exhaustive();
  const auto end = std::bit_cast<std::uint32_t>(7.0f);
  for (std::uint32_t word = 0; word < end; word += all ? 1 : 1021) {
    ASSERT_TRUE(ends_in_its_code(word, kBaseOfSums)) << std::bit_cast<float>(word);
  }
  for (const float near : kSumsNear) {
    const auto middle = std::bit_cast<std::uint32_t>(near);
    for (std::uint32_t word = middle - 2048; word <= middle + 2048; ++word) {
      ASSERT_TRUE(ends_in_its_code(word, kBaseOfSums)) << std::bit_cast<float>(word);
    }
  }
  for (std::uint32_t word = end - 2048; word < end; ++word) {
    ASSERT_TRUE(ends_in_its_code(word, kBaseOfSums)) << std::bit_cast<float>(word);
  }
}

// Half a step more, and what is between two codes goes to the odd one: the test can fail.
TEST(OrdinarySums, NeedAnEvenNumberOfSteps) {
  EXPECT_TRUE(ends_in_its_code(std::bit_cast<std::uint32_t>(0.25f), kBaseOfSums));
  EXPECT_FALSE(ends_in_its_code(std::bit_cast<std::uint32_t>(0.25f), kBaseOfSums + 0.5f));
}

}  // namespace
}  // namespace diecast
