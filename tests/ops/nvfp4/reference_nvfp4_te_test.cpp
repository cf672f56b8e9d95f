// Profile `te` by worked examples: numbers computed by hand or by an independent program, to the
// bit.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_te.h>
#include <gtest/gtest.h>
#include <ops/host_matrix.h>
#include <ops/second_formulations.h>

#include <cfloat>
#include <vector>

namespace diecast::reference {
namespace {

using second::bits_of;
using second::float_of;
using Bytes = std::vector<std::uint8_t>;
using second::kInf;
using second::kNaN;

Nvfp4 quantized(DType type, const std::vector<float>& row, float amax) {
  HostMatrix x(type, 1, row);
  return te_quantize_nvfp4(x.view(), {amax}, false).value();
}

TEST(ReferenceNvfp4Te, UnitBlock) {
  const std::vector<float> x = {0,     -0.0f, .25f,  -.5f, .75f, 1,  -1.25f, 1.5f,
                                1.75f, 2,     -2.5f, 3,    3.5f, -4, 5,      6};
  EXPECT_EQ(te_encode_scale(2688), 1.0f);
  EXPECT_EQ(te_encode_factor(0x38, 1.0f), 1.0f);
  for (auto type : {DType::f32, DType::bf16, DType::f16}) {
    const Nvfp4 q = quantized(type, x, 2688);
    EXPECT_EQ(q.scales, Bytes{0x38});
    EXPECT_EQ(q.codes, (Bytes{0x80, 0x90, 0x22, 0x3A, 0x44, 0x5C, 0xE6, 0x76}));
  }
}

std::vector<float> tenths() {
  std::vector<float> x;
  for (int i = 1; i <= 16; ++i) x.push_back(static_cast<float>(i % 2 ? 0.1 * i : -0.1 * i));
  return x;
}

TEST(ReferenceNvfp4Te, OrdinaryBf16Block) {
  const float encode_scale = te_encode_scale(5.0f);
  EXPECT_EQ(bits_of(encode_scale), 0x44066666u);
  EXPECT_EQ(te_block_scale(1.6015625f, encode_scale), 0x71);
  EXPECT_EQ(bits_of(te_encode_factor(0x71, encode_scale)), 0x406EEEEEu);
  const Nvfp4 q = quantized(DType::bf16, tenths(), 5.0f);
  EXPECT_EQ(q.scales, Bytes{0x71});
  EXPECT_EQ(q.codes, (Bytes{0x91, 0xB2, 0xC4, 0xD5, 0xE5, 0xE6, 0xF6, 0xF7}));
}

TEST(ReferenceNvfp4Te, OrdinaryBf16BlockBack) {
  const Nvfp4 q = quantized(DType::bf16, tenths(), 5.0f);
  HostMatrix out(DType::f32, 1, 16);
  te_dequantize_nvfp4(q, Global::amax, {5.0f}, out.view()).value();
  const float step = float_of(0x3E892492);
  EXPECT_EQ(bits_of(out.at(0, 0)), bits_of(0.5f * step));
  EXPECT_EQ(out.at(0, 0), 0.13392857f);
  EXPECT_EQ(out.at(0, 15), -1.6071428f);
  te_dequantize_nvfp4(q, Global::decode, {te_decode_scale(5.0f)}, out.view()).value();
  EXPECT_EQ(bits_of(out.at(0, 15)), bits_of(-864.0f * float_of(0x3AF3CF3E)));
}

// The two forms, and the amax form associated the other way, each give another last bit here.
TEST(ReferenceNvfp4Te, DequantizeFormsDifferInTheLastBit) {
  const Nvfp4 q{1, 16, Bytes(8, 0x22), Bytes{0x71}, false, {1.0546875f}};
  HostMatrix out(DType::f32, 1, 16);
  te_dequantize_nvfp4(q, Global::amax, q.amax, out.view()).value();
  EXPECT_EQ(bits_of(out.at(0, 0)), 0x3D676DB7u);
  te_dequantize_nvfp4(q, Global::decode, {te_decode_scale(1.0546875f)}, out.view()).value();
  EXPECT_EQ(bits_of(out.at(0, 0)), 0x3D676DB6u);
}

TEST(ReferenceNvfp4Te, BlockScaleTieThatSeparatesProfiles) {
  const float encode_scale = te_encode_scale(1.4375f);
  EXPECT_EQ(bits_of(encode_scale), 0x44E9BD38u);
  EXPECT_EQ(te_block_scale(0.26953125f, encode_scale), 0x6B);
  EXPECT_EQ(bits_of(te_encode_factor(0x6B, encode_scale)), 0x41A9FDFAu);
  EXPECT_EQ(bits_of(te_encode_factor(0x6A, encode_scale)), 0x41BAFDC6u);
  const Nvfp4 q = quantized(DType::bf16,
                            {0.26953125f, -.2f, .15f, -.1f, .05f, -.025f, .0125f, -.00625f, .25f,
                             -.22f, .18f, -.14f, .11f, -.08f, .06f, -.03f},
                            1.4375f);
  EXPECT_EQ(q.scales, Bytes{0x6B});
  EXPECT_EQ(q.codes, (Bytes{0xE7, 0xC5, 0x92, 0x81, 0xE7, 0xD6, 0xB4, 0x93}));
  EXPECT_EQ(te_block_scale(float_of(0x3F680000), te_encode_scale(1.75f)), 0x76);
}

TEST(ReferenceNvfp4Te, ElementThatSeparatesMultiplyingFromDividing) {
  const float encode_scale = te_encode_scale(float_of(0x3BFC0000));
  EXPECT_EQ(bits_of(encode_scale), 0x48AAAAABu);
  const float factor = te_encode_factor(0x62, encode_scale);
  EXPECT_EQ(bits_of(factor), 0x46088889u);
  EXPECT_EQ(bits_of(float_of(0x39960000) * factor), 0x40200001u);
  EXPECT_EQ(te_code(float_of(0x39960000), factor), 5);
}

TEST(ReferenceNvfp4Te, ZeroTensorKeepsSigns) {
  std::vector<float> x(16, 0.0f);
  for (int i = 1; i < 16; i += 2) x[static_cast<std::size_t>(i)] = -0.0f;
  EXPECT_EQ(te_encode_scale(0.0f), 1.0f);
  EXPECT_EQ(te_decode_scale(0.0f), 1.0f);
  for (float amax : {0.0f, 5.0f}) {
    const Nvfp4 q = quantized(DType::bf16, x, amax);
    EXPECT_EQ(q.scales, Bytes{0});
    EXPECT_EQ(q.codes, Bytes(8, 0x80));
  }
}

TEST(ReferenceNvfp4Te, BlockTooSmallForItsTensorSaturatesUnderAZeroScale) {
  std::vector<float> x(16, 1e-3f);
  x[15] = -1e-3f;
  EXPECT_EQ(te_encode_scale(268288), 0.0100190835f);
  const Nvfp4 q = quantized(DType::bf16, x, 268288);
  EXPECT_EQ(q.scales, Bytes{0});
  EXPECT_EQ(q.codes, (Bytes{0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0xF7}));
  HostMatrix out(DType::f32, 1, std::vector<float>(16, 1.0f));
  for (auto form : {Global::amax, Global::decode}) {
    te_dequantize_nvfp4(q, form, {268288}, out.view()).value();
    EXPECT_EQ(bits_of(out.at(0, 0)), 0u);
    EXPECT_EQ(bits_of(out.at(0, 15)), 0x80000000u);
  }
}

TEST(ReferenceNvfp4Te, TinyTensorNeedsSubnormals) {
  std::vector<float> x(16, 0.0f);
  x[3] = 1e-37f;
  const float encode_scale = te_encode_scale(1e-37f);
  EXPECT_EQ(encode_scale, FLT_MAX);
  EXPECT_EQ(bits_of(te_decode_scale(1e-37f)), 0x00200000u);
  EXPECT_EQ(te_block_scale(1e-37f, encode_scale), 0x4B);
  EXPECT_EQ(te_encode_factor(0x4B, encode_scale), 0x1p127f / 2.75f);  // 1 / (5.5 * 2^-128)
  const Nvfp4 q = quantized(DType::f32, x, 1e-37f);
  EXPECT_EQ(q.scales, Bytes{0x4B});
  EXPECT_EQ(q.codes, (Bytes{0, 0x70, 0, 0, 0, 0, 0, 0}));
}

TEST(ReferenceNvfp4Te, InfinityTakesTheGlobalScaleToOne) {
  EXPECT_EQ(te_encode_scale(kInf), 1.0f);
  std::vector<float> x(32, 0.0f);
  x[0] = kInf;
  x[1] = 1000;
  x[2] = kNaN;
  x[3] = -kNaN;
  x[4] = -kInf;
  x[16] = 6;
  HostMatrix matrix(DType::f32, 1, x);
  const Nvfp4 q = te_quantize_nvfp4(matrix.view(), false).value();
  EXPECT_EQ(q.amax, std::vector<float>{kInf});
  EXPECT_EQ(q.scales, (Bytes{0x7E, 0x38}));
  EXPECT_EQ(q.codes, (Bytes{0x47, 0x77, 0x0F, 0, 0, 0, 0, 0, 0x07, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(ReferenceNvfp4Te, NaNIsNoMaximumAndBecomesCodeSeven) {
  EXPECT_EQ(te_encode_scale(kNaN), FLT_MAX);
  HostMatrix matrix(DType::bf16, 2, 16);
  matrix.fill(
      [](std::int64_t row, std::int64_t col) { return row == 0 || col == 0 ? kNaN : 1.5f; });
  const Nvfp4 q = te_quantize_nvfp4(matrix.view(), true).value();
  EXPECT_EQ(q.amax, (std::vector<float>{0.0f, 1.5f}));
  EXPECT_EQ(q.scales, (Bytes{0, 0x7E}));
  EXPECT_EQ(q.codes, Bytes(16, 0x77));
}

TEST(ReferenceNvfp4Te, RowScaledTakesEachRowsAmax) {
  HostMatrix x(DType::f32, 2, 32);
  x.set(0, 0, 1.0f);
  x.set(0, 1, 0.5f);
  x.set(0, 16, 4.0f);
  x.set(1, 0, 0.5f);
  x.set(1, 1, 0.25f);
  const Nvfp4 q = te_quantize_nvfp4(x.view(), true).value();
  EXPECT_EQ(q.amax, (std::vector<float>{4.0f, 0.5f}));
  EXPECT_EQ(te_encode_scale(4.0f), 672.0f);
  EXPECT_EQ(te_encode_scale(0.5f), 5376.0f);
  EXPECT_EQ(te_encode_factor(0x6E, 672.0f), 6.0f);
  EXPECT_EQ(te_encode_factor(0x7E, 5376.0f), 12.0f);
  EXPECT_EQ(q.scales, (Bytes{0x6E, 0x7E, 0x7E, 0x00}));
  EXPECT_EQ(q.codes[0], 0x57);
  EXPECT_EQ(q.codes[16], 0x57);
}

TEST(ReferenceNvfp4Te, DecodeScaleIsTheReciprocalOfTheRoundedQuotient) {
  EXPECT_EQ(te_encode_scale(3.0f), 896.0f);
  EXPECT_EQ(bits_of(te_decode_scale(3.0f)), 0x3A924925u);
  EXPECT_EQ(bits_of(te_decode_scale(1.0f)), 0x39C30C31u);
  EXPECT_EQ(bits_of(te_decode_scale(1.03125f)), 0x39C92493u);
  EXPECT_EQ(bits_of(te_decode_scale(1.015625f)), 0x39C61861u);
  EXPECT_EQ(bits_of(te_decode_scale(1.1484375f)), 0x39DFFFFFu);
  EXPECT_EQ(bits_of(te_decode_scale(5.0f)), 0x3AF3CF3Eu);
  EXPECT_EQ(bits_of(te_decode_scale(1e-36f)), 0x00200000u);
}

TEST(ReferenceNvfp4Te, ConstantsAreWhatTheCardSays) {
  EXPECT_EQ(bits_of(1.0f / 6.0f), 0x3E2AAAABu);
  EXPECT_EQ(bits_of(1.0f / 2688.0f), 0x39C30C31u);
  EXPECT_EQ(6.0f * (1.0f / 6.0f), 1.0f);
  EXPECT_EQ(2688.0f * (1.0f / 6.0f), 448.0f);
}

TEST(ReferenceNvfp4Te, BlockScaleBoundaries) {
  const float unit = 6.0f;  // te_block_scale(6 * v, 1) encodes v: fl(1/6) * 6 is 1
  EXPECT_EQ(te_block_scale(unit * 0x1p-10f, 1.0f), 0x00);
  EXPECT_EQ(te_block_scale(unit * 464, 1.0f), 0x7E);
  EXPECT_EQ(te_block_scale(unit * 1e9f, 1.0f), 0x7E);
  EXPECT_EQ(te_block_scale(FLT_MAX, FLT_MAX), 0x7E);
  EXPECT_EQ(te_block_scale(kInf, 1.0f), 0x7E);
  EXPECT_EQ(te_block_scale(kNaN, 1.0f), 0x7E);
  EXPECT_EQ(te_encode_factor(0x00, 1.0f), FLT_MAX);
  EXPECT_EQ(te_encode_factor(0x01, FLT_MAX), FLT_MAX);  // 2^137
  EXPECT_EQ(te_code(FLT_TRUE_MIN, FLT_MAX), 0);
  EXPECT_EQ(te_code(-1.0f, FLT_MAX), 15);
  EXPECT_EQ(te_code(0.0f, FLT_MAX), 0);
}

}  // namespace
}  // namespace diecast::reference
