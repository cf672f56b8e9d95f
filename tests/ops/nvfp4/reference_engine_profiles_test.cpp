// The profiles te_fast and FlashInfer's by their cards: worked numbers, edges, and where they part
// from te.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <random>

namespace diecast::reference {
namespace {

Sixteen only(float first) {
  Sixteen x{};
  x[0] = first;
  return x;
}

Sixteen normal_values(std::mt19937& random) {
  std::normal_distribution<float> normal;
  Sixteen x;
  for (float& value : x) value = decode_bf16(encode_bf16(normal(random)));
  return x;
}

float amax_of(const Sixteen& x) {
  float amax = 0;
  for (float value : x) amax = std::fmax(amax, std::fabs(value));
  return amax;
}

TEST(TeFast, RoundsItsFactorToBf16) {
  const float s = te_encode_scale(17.125f);
  const float block_amax = 17.125f * 116 / 448;  // gives a byte near 0x74; the example's is given
  const Block one = te_fast_block(only(4.28125f), block_amax, s);
  EXPECT_EQ(one.scale, te_block_scale(block_amax, s));
  const float quotient = s / decode_e4m3(one.scale);
  EXPECT_EQ(one.scaled[0], 4.28125f * decode_bf16(encode_bf16(quotient)));
  // The card's example: byte 0x74 has the exact factor 0x3F5148E0, and its bf16 0x3F51.
  const float exact = s / decode_e4m3(0x74);
  EXPECT_EQ(encode_bf16(exact), 0x3F51);
  EXPECT_EQ(encode_e2m1(4.28125f * te_encode_factor(0x74, s)), 6);
  EXPECT_EQ(encode_e2m1(4.28125f * decode_bf16(0x3F51)), 5);
}

TEST(TeFast, DiffersFromTeInAFewCodesOfAThousandAndInNoByte) {
  std::mt19937 random(1);
  int codes = 0;
  for (int i = 0; i < 4000; ++i) {
    const Sixteen x = normal_values(random);
    const float s = te_encode_scale(amax_of(x) * 1.7f);
    const Block fast = te_fast_block(x, amax_of(x), s), plain = te_block(x, amax_of(x), s, 1 / s);
    EXPECT_EQ(fast.scale, plain.scale);
    for (std::size_t e = 0; e < 16; ++e) codes += fast.codes[e] != plain.codes[e];
  }
  EXPECT_GT(codes, 64);    // of 64,000
  EXPECT_LT(codes, 1280);  // 2 %
}

TEST(TeFast, HasNoNegativeZeroAndLimitsTheFactorOfAZeroByte) {
  const Block zeros = te_fast_block(only(-0.0f), 0.0f, 1.0f);
  EXPECT_EQ(zeros.scale, 0);
  EXPECT_EQ(zeros.codes[0], 0);
  const Block lost = te_fast_block(only(1e-3f), 1e-3f, te_encode_scale(268288.0f));
  EXPECT_EQ(lost.scale, 0);
  EXPECT_EQ(lost.codes[0], 7);
  EXPECT_EQ(lost.codes[1], 0);
}

TEST(FlashinferExact, IsTeWhereNothingIsSubnormal) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const Sixteen x = normal_values(random);
    const float s = te_encode_scale(amax_of(x) * 1.3f);
    EXPECT_EQ(flashinfer_block(x, amax_of(x), s, {}), te_block(x, amax_of(x), s, 1 / s));
  }
  const Block zeros = flashinfer_block(only(-0.0f), 0.0f, 400.0f, {});
  EXPECT_EQ(zeros.scale, 0);
  EXPECT_EQ(zeros.codes[0], 8);
}

TEST(FlashinferExact, FlushesSubnormalsWhereTeKeepsThem) {
  // 1 / G is 2^-128: zero here, so the factor is the largest float.
  const float tiny = 1e-37f;
  const Block kept = te_block(only(tiny), tiny, FLT_MAX, 1 / FLT_MAX);
  const Block lost = flashinfer_block(only(tiny), tiny, FLT_MAX, {});
  EXPECT_EQ(kept.scale, lost.scale);
  EXPECT_EQ(kept.scaled[0], tiny * te_encode_factor(kept.scale, FLT_MAX));
  EXPECT_EQ(lost.scaled[0], tiny * FLT_MAX);
  // A subnormal element is a zero, and so is a block of them, whatever its sign.
  const float subnormal = -0x1p-127f;
  const Block of_te = te_block(only(subnormal), -subnormal, FLT_MAX, 1 / FLT_MAX);
  const Block flushed = flashinfer_block(only(subnormal), -subnormal, FLT_MAX, {});
  EXPECT_NE(of_te.codes[0] % 8, 0);
  EXPECT_EQ(flushed.scale, 0);
  EXPECT_EQ(flushed.codes[0], 8);
}

// The approximation of a processor that rounds to nearest, with fast math's zeros.
float stand_in(float x) {
  const float y = 1.0f / (std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x);
  return std::fpclassify(y) == FP_SUBNORMAL ? std::copysign(0.0f, y) : y;
}

TEST(FlashinferFast, ItsZeroTestLooksAtTheBlockAndNotAtTheByte) {
  const Block zeros = flashinfer_block(only(-0.0f), 0.0f, 400.0f, stand_in);
  EXPECT_EQ(zeros.scale, 0);
  EXPECT_EQ(zeros.codes[0], 8);
  Sixteen x = only(1e-3f);
  x[1] = -1e-3f;
  const Block lost = flashinfer_block(x, 1e-3f, 0.01f, stand_in);
  EXPECT_EQ(lost.scale, 0);
  EXPECT_EQ(lost.codes[0], 7);  // the factor is infinite
  EXPECT_EQ(lost.codes[1], 15);
  EXPECT_EQ(lost.codes[2], 7);  // 0 times infinity
}

TEST(FlashinferFast, AnInfiniteScaleMakesABlockOfZerosNaN) {
  const Block zeros = flashinfer_block(only(0.0f), 0.0f, INFINITY, stand_in);
  EXPECT_EQ(zeros.scale, 0x7F);
  EXPECT_EQ(zeros.codes[0], 0);
}

TEST(FlashinferTokens, AreAsTheProfileUnderTheScaleThatTheRowsAmaxMakes) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const Sixteen x = normal_values(random);
    const float amax = amax_of(x) * 1.3f;
    EXPECT_EQ(flashinfer_token_block(x, amax_of(x), amax, {}),
              flashinfer_block(x, amax_of(x), te_encode_scale(amax), {}));
    EXPECT_EQ(flashinfer_token_block(x, amax_of(x), amax, stand_in),
              flashinfer_block(x, amax_of(x), stand_in(amax * 0x1.861862p-12f), stand_in));
  }
}

TEST(FlashinferTokens, ARowOfZerosHasBytesZeroOrNaN) {
  const Block exact = flashinfer_token_block(only(-0.0f), 0.0f, 0.0f, {});
  EXPECT_EQ(exact.scale, 0);
  EXPECT_EQ(exact.codes[0], 8);
  EXPECT_EQ(exact.codes[1], 0);
  const Block fast = flashinfer_token_block(only(-0.0f), 0.0f, 0.0f, stand_in);
  EXPECT_EQ(fast.scale, 0x7F);  // infinity times zero
  EXPECT_EQ(fast.codes[0], 8);
  EXPECT_EQ(fast.codes[1], 0);
}

TEST(FlashinferTokens, AnUnderflowedBlocksFactorIsNotLimited) {
  Sixteen x = only(1e-3f);
  x[1] = -1e-3f;
  const Block of_token = flashinfer_token_block(x, 1e-3f, 268288.0f, {});
  const Block of_tensor = flashinfer_block(x, 1e-3f, te_encode_scale(268288.0f), {});
  EXPECT_EQ(of_token.scale, 0);
  EXPECT_EQ(of_tensor.scale, 0);
  EXPECT_EQ(of_token.codes[0], 7);
  EXPECT_EQ(of_token.codes[1], 15);
  EXPECT_EQ(of_token.codes[2], 7);   // 0 times infinity
  EXPECT_EQ(of_tensor.codes[2], 0);  // 0 times the largest float
}

TEST(FlashinferTokens, AnInfiniteAmaxMakesTheScaleOneOrZero) {
  const Sixteen x = only(3.0f);
  EXPECT_EQ(flashinfer_token_block(x, 3.0f, INFINITY, {}), flashinfer_block(x, 3.0f, 1.0f, {}));
  const Block finite = flashinfer_token_block(x, 3.0f, INFINITY, stand_in);
  EXPECT_EQ(finite.scale, 0);
  EXPECT_EQ(finite.codes[0], 7);
  EXPECT_EQ(finite.codes[1], 7);
  const Block infinite = flashinfer_token_block(only(INFINITY), INFINITY, INFINITY, stand_in);
  EXPECT_EQ(infinite.scale, 0x7F);
  EXPECT_EQ(infinite.codes[1], 7);
}

TEST(FlashinferTokens, ATinyAmaxMakesTheFactorInfinite) {
  const float amax = 3e-35f;  // 2688 / amax is above 2^126, and its reciprocal subnormal
  for (const Reciprocal& near : {Reciprocal(), Reciprocal(stand_in)}) {
    const Block tiny = flashinfer_token_block(only(-amax), amax, amax, near);
    EXPECT_GE(tiny.scale, 0x7D);  // about 448
    EXPECT_EQ(tiny.codes[0], 15);
    EXPECT_EQ(tiny.codes[1], 7);
  }
}

TEST(FlashinferDsl, ItsZeroTestLooksAtTheByteWhereFast) {
  Sixteen x = only(1e-3f);
  x[1] = -1e-3f;
  const Block lost = flashinfer_dsl_block(x, 1e-3f, 0.01f, stand_in);
  EXPECT_EQ(lost.scale, 0);
  EXPECT_EQ(lost.codes[0], 0);  // where the CUDA back end has 7, 15 and 7
  EXPECT_EQ(lost.codes[1], 8);
  EXPECT_EQ(lost.codes[2], 0);
  const Block zeros = flashinfer_dsl_block(only(-0.0f), 0.0f, 400.0f, stand_in);
  EXPECT_EQ(zeros.scale, 0);
  EXPECT_EQ(zeros.codes[0], 8);
  const Block nan = flashinfer_dsl_block(only(0.0f), 0.0f, INFINITY, stand_in);
  EXPECT_EQ(nan.scale, 0x7F);  // which is not 0, so the factor is NaN too
  EXPECT_EQ(nan.codes[0], 7);
}

TEST(FlashinferDsl, KeepsSubnormalsAsTeDoes) {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    Sixteen x = normal_values(random);
    for (float& value : x) value *= 0x1p-125f;
    const float s = te_encode_scale(amax_of(x) * 1.3f);
    EXPECT_EQ(flashinfer_dsl_block(x, amax_of(x), s, {}), te_block(x, amax_of(x), s, 1 / s));
    EXPECT_FALSE(flashinfer_block(x, amax_of(x), s, {}) == te_block(x, amax_of(x), s, 1 / s));
  }
  const Block lost = flashinfer_dsl_block(only(1e-3f), 1e-3f, te_encode_scale(268288.0f), {});
  EXPECT_EQ(lost.scale, 0);
  EXPECT_EQ(lost.codes[0], 7);  // the factor is the largest float
  EXPECT_EQ(lost.codes[1], 0);
}

TEST(FlashinferFast, MultipliesInAnotherOrderThanTe) {
  // 84 is a tie of E4M3; in te's order the product has rounded upwards.
  const float amax = 1.4375f, block_amax = 0.26953125f;
  const float s = te_encode_scale(amax);
  EXPECT_EQ(te_block_scale(block_amax, s), 0x6B);
  EXPECT_EQ(flashinfer_block(only(block_amax), block_amax, s, stand_in).scale, 0x6A);
  EXPECT_EQ(flashinfer_block(only(block_amax), block_amax, s, {}).scale, 0x6B);
}

}  // namespace
}  // namespace diecast::reference
