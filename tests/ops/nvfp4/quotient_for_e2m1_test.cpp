// quotient_for_e2m1() of templates/device/numbers/quotient.h, in this processor's arithmetic: a
// quotient with one correction gets the E2M1 code of the rounded one, for every mantissa of the
// divisor (but the last) and the numerators beside each midpoint of E2M1. By itself a sample of the
// mantissas, with those that come nearest; DIECAST_EXHAUSTIVE=1: all.
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "how_many.h"

namespace diecast {
namespace {

constexpr float kMidpoints[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};

float corrected(float a, float b, float inverse) {
  const float q = a * inverse;
  return std::fma(std::fma(-b, q, a), inverse, q);
}

int wrong_codes(float divisor) {
  const float inverse = 1.0f / divisor;
  int wrong = 0;
  for (const float midpoint : kMidpoints) {
    const auto nearest = std::bit_cast<std::uint32_t>(midpoint * divisor);
    for (std::uint32_t word = nearest - 2; word <= nearest + 2; ++word) {
      const auto a = std::bit_cast<float>(word);
      wrong += reference::encode_e2m1(corrected(a, divisor, inverse)) !=
               reference::encode_e2m1(a / divisor);
    }
  }
  return wrong;
}

TEST(QuotientForE2m1, HasTheCodeOfTheRoundedQuotient) {
  const bool all = testing::exhaustive();
  constexpr std::uint32_t kMantissas = 1u << 23, kNear = 1024;
  for (std::uint32_t mantissa = 0; mantissa + 1 < kMantissas; ++mantissa) {
    // Numerators of few digits come nearest to divisors that are beside a number of few digits.
    const bool near = (mantissa + kNear) % (1u << 20) < 2 * kNear;
    if (!all && !near && mantissa % 1021 != 0) continue;
    ASSERT_EQ(wrong_codes(std::bit_cast<float>(0x3F800000u | mantissa)), 0) << mantissa;
  }
}

// An inverse one last place off would not do: the test can fail, and inverses must be rounded.
TEST(QuotientForE2m1, NeedsTheRoundedInverse) {
  const auto divisor = std::bit_cast<float>(0x3FBFFFFDu), a = std::bit_cast<float>(0x406FFFFDu);
  EXPECT_EQ(reference::encode_e2m1(a / divisor), 5);
  EXPECT_EQ(reference::encode_e2m1(corrected(a, divisor, 1.0f / divisor)), 5);
  EXPECT_EQ(reference::encode_e2m1(corrected(a, divisor, std::nextafter(1.0f / divisor, 0.0f))), 4);
}

}  // namespace
}  // namespace diecast
