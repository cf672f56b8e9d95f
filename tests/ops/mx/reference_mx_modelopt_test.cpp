// ModelOpt's MXFP4 packer: ties go towards zero, zeros are negative, and scales are made in bf16.
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>
#include <gtest/gtest.h>

#include <cmath>

namespace diecast::reference {
namespace {

constexpr MxFormula kModelopt{Format::mxfp4, MxMode::rceil, true, true};
constexpr MxFormula kTorchao{Format::mxfp4, MxMode::rceil, true, false};

TEST(ReferenceMxModelopt, TiesGoTowardsZero) {
  const float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(mx_code(kModelopt, ties[i], 127), i);
    EXPECT_EQ(mx_code(kModelopt, -ties[i], 127), i + 8);
    const float above = ties[i] * (1 + 0x1p-7f);  // the next bf16
    EXPECT_EQ(mx_code(kModelopt, above, 127), i + 1);
  }
  EXPECT_EQ(mx_code(kTorchao, 0.75f, 127), 2);
  EXPECT_EQ(mx_code(kModelopt, 0.75f, 127), 1);
}

TEST(ReferenceMxModelopt, ZerosHaveTheSignBit) {
  EXPECT_EQ(mx_code(kModelopt, 0.0f, 127), 8);
  EXPECT_EQ(mx_code(kModelopt, -0.0f, 127), 8);
  EXPECT_EQ(mx_code(kTorchao, 0.0f, 127), 0);
  EXPECT_EQ(mx_code(kModelopt, 0x1p-100f, 127), 0);  // positive, but rounds to zero
  EXPECT_EQ(mx_code(kModelopt, 0x1p-100f, 162), 8);  // 2^-135 is a zero of bf16
  EXPECT_EQ(mx_scale(kModelopt, 0.0f), 0);
}

TEST(ReferenceMxModelopt, ScalesAreRoundedUpFromALogarithmThatBf16Holds) {
  EXPECT_EQ(mx_scale(kModelopt, 6.0f), 127);
  EXPECT_EQ(mx_scale(kModelopt, 6.03125f), 128);        // log2 of the next quotient is not 0
  EXPECT_EQ(mx_scale(kModelopt, 6.03125f * 256), 135);  // 8.01 is 8 in bf16
  EXPECT_EQ(mx_scale(kTorchao, 6.03125f * 256), 136);
  EXPECT_EQ(mx_scale(kModelopt, INFINITY), 255);
  EXPECT_EQ(mx_scale(kModelopt, NAN), 255);
}

// No bf16 amax has a logarithm so near to a tie of bf16 that the last place of an f32 logarithm
// decided its scale.
TEST(ReferenceMxModelopt, NoLogarithmIsNearATie) {
  for (std::uint32_t bits = 1; bits < 0x7F80; ++bits) {
    const float amax = decode_bf16(static_cast<std::uint16_t>(bits));
    const float quotient = decode_bf16(encode_bf16(amax * (1.0f / 6.0f)));
    if (quotient == 0.0f) continue;
    const float logarithm = std::log2(quotient);
    const std::uint16_t rounded = encode_bf16(logarithm);
    if (decode_bf16(rounded) == logarithm) continue;  // a power of two
    for (const float near :
         {std::nextafter(logarithm, -200.0f), std::nextafter(logarithm, 200.0f)}) {
      EXPECT_EQ(encode_bf16(near), rounded) << bits;
    }
  }
}

}  // namespace
}  // namespace diecast::reference
