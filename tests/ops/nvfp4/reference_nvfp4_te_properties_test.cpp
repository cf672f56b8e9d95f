// Profile `te` by what must hold for any matrix: identities, shapes, strides, tails, and errors.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_te.h>
#include <gtest/gtest.h>
#include <ops/host_matrix.h>
#include <ops/second_formulations.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace diecast::reference {
namespace {

using second::bits_of;
using second::float_of;
using second::kNaN;

// Normal values, every fourth block 1000 times smaller, with signed zeros among them.
HostMatrix random_matrix(DType type, std::int64_t rows, std::int64_t cols, unsigned seed,
                         std::int64_t stride = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  return HostMatrix(type, rows, cols, stride).fill([&](std::int64_t, std::int64_t col) {
    const float x = normal(random) * (col / 16 % 4 == 3 ? 1e-3f : 1.0f);
    return random() % 16 == 0 ? std::copysign(0.0f, x) : x;
  });
}

Nvfp4 quantized(HostMatrix& x, bool row_scaled = false) {
  return te_quantize_nvfp4(x.view(), row_scaled).value();
}

void expect_equal(const Nvfp4& a, const Nvfp4& b) {
  EXPECT_EQ(a.amax, b.amax);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.codes, b.codes);
}

TEST(ReferenceNvfp4Te, BlockWithTheTensorsAmaxHasTheLargestScale) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const float amax = float_of(0x3F800000u + (i < 128 ? i << 16 : random() >> 9));
    const float encode_scale = te_encode_scale(amax);
    const float scaled = amax * (encode_scale * (1.0f / 6.0f));
    ASSERT_GE(scaled, 447.99997f) << amax;
    ASSERT_LE(scaled, 448.00006f) << amax;
    ASSERT_EQ(te_block_scale(amax, encode_scale), 0x7E) << amax;
  }
}

TEST(ReferenceNvfp4Te, PowersOfTwoChangeOnlyTheAmax) {
  HostMatrix x = random_matrix(DType::f32, 9, 80, 2);
  const Nvfp4 q = quantized(x, true);
  for (int power : {-60, -3, 1, 60}) {
    HostMatrix scaled = x;
    scaled.fill([&](std::int64_t r, std::int64_t c) { return std::ldexp(x.at(r, c), power); });
    const Nvfp4 other = quantized(scaled, true);
    EXPECT_EQ(other.codes, q.codes);
    EXPECT_EQ(other.scales, q.scales);
    EXPECT_EQ(other.amax[3], std::ldexp(q.amax[3], power));
  }
}

TEST(ReferenceNvfp4Te, NegatingFlipsTheSignOfEveryCode) {
  HostMatrix x = random_matrix(DType::bf16, 9, 80, 3);
  HostMatrix negative = x;
  negative.fill([&](std::int64_t r, std::int64_t c) { return -x.at(r, c); });
  Nvfp4 q = quantized(x);
  for (auto& pair : q.codes) pair ^= 0x88;
  expect_equal(quantized(negative), q);
}

TEST(ReferenceNvfp4Te, PermutingABlockPermutesItsCodes) {
  HostMatrix x = random_matrix(DType::f16, 3, 48, 4);
  HostMatrix reversed = x;
  reversed.fill([&](std::int64_t r, std::int64_t c) { return x.at(r, c / 16 * 16 + 15 - c % 16); });
  Nvfp4 q = quantized(x);
  for (auto block = q.codes.begin(); block != q.codes.end(); block += 8) {
    std::reverse(block, block + 8);
    for (auto pair = block; pair != block + 8; ++pair) {
      *pair = static_cast<std::uint8_t>(*pair << 4 | *pair >> 4);
    }
  }
  expect_equal(quantized(reversed), q);
}

TEST(ReferenceNvfp4Te, PermutingRowsPermutesRows) {
  HostMatrix x = random_matrix(DType::f32, 4, 32, 5), swapped = x;
  swapped.fill([&](std::int64_t r, std::int64_t c) { return x.at(3 - r, c); });
  const Nvfp4 q = quantized(x, true), other = quantized(swapped, true);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(other.amax[row], q.amax[3 - row]);
    EXPECT_TRUE(
        std::equal(&other.codes[row * 16], &other.codes[row * 16] + 16, &q.codes[(3 - row) * 16]));
  }
}

TEST(ReferenceNvfp4Te, EqualRowAmaxesGiveThePerTensorResult) {
  HostMatrix x = random_matrix(DType::bf16, 5, 64, 6);
  for (std::int64_t row = 0; row < 5; ++row) x.set(row, row, -7.5f);
  const Nvfp4 one = quantized(x), rows = quantized(x, true);
  EXPECT_EQ(rows.amax, std::vector<float>(5, 7.5f));
  EXPECT_EQ(one.codes, rows.codes);
  EXPECT_EQ(one.scales, rows.scales);
}

TEST(ReferenceNvfp4Te, TailBlocksArePaddedWithZeros) {
  for (std::int64_t cols : {1, 2, 15, 17, 31, 33, 47}) {
    SCOPED_TRACE(cols);
    HostMatrix x = random_matrix(DType::bf16, 3, cols, 7);
    HostMatrix padded(DType::bf16, 3, (cols + 15) / 16 * 16);
    padded.fill([&](std::int64_t r, std::int64_t c) { return c < cols ? x.at(r, c) : 0.0f; });
    for (const bool row_scaled : {false, true}) {
      expect_equal(quantized(x, row_scaled), quantized(padded, row_scaled));
    }
  }
}

TEST(ReferenceNvfp4Te, ReadsAndWritesRowsByTheirStride) {
  HostMatrix dense = random_matrix(DType::f16, 5, 40, 8);
  HostMatrix apart = HostMatrix(DType::f16, 5, 40, 57);
  apart.words.assign(apart.words.size(), 0x7C007C00);  // infinity between the rows
  apart.fill([&](std::int64_t r, std::int64_t c) { return dense.at(r, c); });
  const Nvfp4 q = quantized(apart);
  expect_equal(q, quantized(dense));
  HostMatrix out = apart;
  te_dequantize_nvfp4(q, Global::amax, q.amax, out.view()).value();
  te_dequantize_nvfp4(q, Global::amax, q.amax, dense.view()).value();
  for (std::int64_t r = 0; r < 5; ++r) {
    for (std::int64_t c = 0; c < 40; ++c) ASSERT_EQ(out.at(r, c), dense.at(r, c));
    EXPECT_TRUE(std::isinf(load(out.words.data(), DType::f16, r * 57 + 40)));
  }
}

TEST(ReferenceNvfp4Te, EmptyMatricesGiveEmptyCodes) {
  for (auto [rows, cols] : {std::pair<int, int>{0, 32}, {5, 0}, {0, 0}}) {
    HostMatrix x(DType::bf16, rows, cols);
    const Nvfp4 one = quantized(x), each = quantized(x, true);
    EXPECT_EQ(one.amax, std::vector<float>{0});
    EXPECT_EQ(each.amax, std::vector<float>(static_cast<std::size_t>(rows)));
    EXPECT_TRUE(one.codes.empty() && one.scales.empty());
    EXPECT_TRUE(te_dequantize_nvfp4(each, Global::amax, each.amax, x.view()));
  }
}

TEST(ReferenceNvfp4Te, DequantizesWithinHalfAStepOfTheGrid) {
  HostMatrix x = random_matrix(DType::f32, 7, 96, 9), out = x;
  const Nvfp4 q = quantized(x, true);
  std::vector<float> decode_scales;
  for (float amax : q.amax) decode_scales.push_back(te_decode_scale(amax));
  for (auto form : {Global::amax, Global::decode}) {
    te_dequantize_nvfp4(q, form, form == Global::amax ? q.amax : decode_scales, out.view()).value();
    for (std::int64_t r = 0; r < 7; ++r) {
      for (std::int64_t c = 0; c < 96; ++c) {
        const float scale = decode_e4m3(q.scales[static_cast<std::size_t>(r * 6 + c / 16)]);
        const float step = scale * decode_scales[static_cast<std::size_t>(r)];
        const float magnitude = std::fabs(x.at(r, c)) / step;
        const float half = magnitude > 4 ? 1.0f : magnitude > 2 ? 0.5f : 0.25f;
        // A block scale rounded down leaves its largest element at most 1/16 beyond the grid's end
        // of 6, less than the half step there.
        ASSERT_LE(std::fabs(out.at(r, c) - x.at(r, c)), step * half * 1.00001f) << r << " " << c;
        ASSERT_EQ(std::signbit(out.at(r, c)), std::signbit(x.at(r, c)));
      }
    }
  }
}

TEST(ReferenceNvfp4Te, DequantizesToSixteenBitsByRoundingTheFloat) {
  HostMatrix x = random_matrix(DType::f32, 7, 40, 10), exact = x;
  const Nvfp4 q = quantized(x);
  te_dequantize_nvfp4(q, Global::amax, q.amax, exact.view()).value();
  for (auto type : {DType::bf16, DType::f16}) {
    HostMatrix out(type, 7, 40), rounded(type, 7, 40);
    rounded.fill([&](std::int64_t r, std::int64_t c) { return exact.at(r, c); });
    te_dequantize_nvfp4(q, Global::amax, q.amax, out.view()).value();
    EXPECT_EQ(out.words, rounded.words);
  }
}

TEST(ReferenceNvfp4Te, DequantizesNaNScalesAndInfiniteAmaxToNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  Nvfp4 q{1, 32, std::vector<std::uint8_t>(16, 0x70), {0x7F, 0x38}, false, {1.0f}};
  HostMatrix out(DType::f32, 1, 32);
  te_dequantize_nvfp4(q, Global::decode, {1.0f}, out.view()).value();
  EXPECT_EQ(bits_of(out.at(0, 0)), 0x7FFFFFFFu);
  EXPECT_EQ(out.at(0, 16), 0.0f);
  EXPECT_EQ(out.at(0, 17), 6.0f);
  te_dequantize_nvfp4(q, Global::amax, {infinity}, out.view()).value();
  EXPECT_EQ(bits_of(out.at(0, 16)), 0x7FFFFFFFu);  // 0 * infinity
  EXPECT_EQ(out.at(0, 17), infinity);
}

TEST(ReferenceNvfp4Te, AmaxIsThePlainMaximumOfEachRowOrAll) {
  HostMatrix x(DType::bf16, 3, {1, -2, kNaN, -0.0f, kNaN, -0.0f, 3, -8, 4});
  EXPECT_EQ(amax(x.view(), true).value(), (std::vector<float>{2, 0, 8}));
  EXPECT_FALSE(std::signbit(amax(x.view(), true).value()[1]));
  EXPECT_EQ(amax(x.view(), false).value(), std::vector<float>{8});
}

// Three rows of 16 elements that lie more than 2^32 elements apart, in memory that is never touched
// between them.
TEST(ReferenceNvfp4Te, IndexesBeyond32Bits) {
  const std::int64_t stride = (std::int64_t{1} << 32) + 16;
  const std::size_t bytes = static_cast<std::size_t>(2 * stride + 16) * 2;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "cannot reserve " << bytes << " bytes of addresses";
  for (std::int64_t i = 0; i < 48; ++i) {
    store(memory, DType::bf16, i / 16 * stride + i % 16, static_cast<float>(i - 20));
  }
  const Tensor apart{memory, DType::bf16, {3, 16}, stride};
  const Nvfp4 q = te_quantize_nvfp4(apart, true).value();
  HostMatrix dense(DType::bf16, 3, 16);
  dense.fill([](std::int64_t r, std::int64_t c) { return static_cast<float>(r * 16 + c - 20); });
  expect_equal(q, quantized(dense, true));
  EXPECT_EQ(q.amax, (std::vector<float>{20, 11, 27}));
  te_dequantize_nvfp4(q, Global::amax, q.amax, apart).value();
  te_dequantize_nvfp4(q, Global::amax, q.amax, dense.view()).value();
  EXPECT_EQ(load(memory, DType::bf16, 2 * stride + 15), dense.at(2, 15));
  munmap(memory, bytes);
}

TEST(ReferenceNvfp4Te, NamesWhatDoesNotFit) {
  HostMatrix x(DType::f32, 2, 32);
  Tensor bytes = x.view();
  bytes.dtype = DType::u8;
  EXPECT_EQ(te_quantize_nvfp4(bytes, false).error().message(),
            "diecast: dtype_mismatch: x is u8\n  fix: x is f32, bf16, f16 or e4m3");
  EXPECT_EQ(te_quantize_nvfp4(x.view(), {1, 2}, false).error().message(),
            "diecast: shape_mismatch: amax has 2 entries, not 1\n  fix: pass 1 entries of amax");
  EXPECT_EQ(te_quantize_nvfp4(x.view(), {1}, true).error().code, ErrorCode::shape_mismatch);
  EXPECT_EQ(amax({nullptr, DType::f32, {2, 32}}, false).error().code, ErrorCode::missing_buffer);

  Nvfp4 q = quantized(x);
  HostMatrix other(DType::f32, 2, 48);
  EXPECT_EQ(te_dequantize_nvfp4(q, Global::amax, q.amax, other.view()).error().message(),
            "diecast: shape_mismatch: out is [2, 48], the quantized matrix [2, 32]\n"
            "  fix: give out the rows and columns of the quantized matrix");
  EXPECT_EQ(
      te_dequantize_nvfp4(q, Global::amax, {}, x.view()).error().message(),
      "diecast: shape_mismatch: global has 0 entries, not 1\n  fix: pass 1 entries of global");
  q.scales.pop_back();
  EXPECT_EQ(
      te_dequantize_nvfp4(q, Global::amax, q.amax, x.view()).error().message(),
      "diecast: shape_mismatch: scales has 3 entries, not 4\n  fix: pass 4 entries of scales");
  q.codes.pop_back();
  EXPECT_EQ(
      te_dequantize_nvfp4(q, Global::amax, q.amax, x.view()).error().message(),
      "diecast: shape_mismatch: codes has 31 entries, not 32\n  fix: pass 32 entries of codes");
}

}  // namespace
}  // namespace diecast::reference
