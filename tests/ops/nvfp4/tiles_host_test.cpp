// Properties of what looks at a matrix along both sides: transposes, layouts, both directions,
// shared amaxes. Every output is poisoned before, padding included.
#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <random>

#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

Octets random_bytes(std::int64_t count, std::uint64_t seed, unsigned mask) {
  std::mt19937_64 random(seed);
  Octets bytes(static_cast<std::size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() & mask);
  return bytes;
}

TEST_F(TilesOnHost, TransposingCodesTwiceIsTheIdentity) {
  for (const int pad : {2, 16}) {
    for (const auto& [rows, cols] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {2, 2}, {4, 4}, {66, 130}, {130, 66}, {16, 48}, {1, 17}, {5, 3}, {129, 1}}) {
      const std::int64_t row_bytes = (cols + pad - 1) / pad * pad / 2;
      Octets codes = random_bytes(rows * row_bytes, 7, 0xFF);
      for (std::int64_t row = 0; row < rows; ++row) {  // codes behind a row's end are zeros
        for (std::int64_t col = cols; col < row_bytes * 2; ++col) {
          codes[static_cast<std::size_t>(row * row_bytes + col / 2)] &= col % 2 == 0 ? 0xF0 : 0x0F;
        }
      }
      const std::int64_t other_bytes = cols * ((rows + pad - 1) / pad * pad / 2);
      auto* const there = memory(other_bytes);
      auto* const back = memory(rows * row_bytes);
      transpose_codes(*runtime_, memory(codes), rows, cols, pad, there, {device_}).value();
      transpose_codes(*runtime_, there, cols, rows, pad, back, {device_}).value();
      EXPECT_EQ(bytes_at(back, rows * row_bytes), codes) << rows << " " << cols << " " << pad;
    }
  }
}

TEST_F(TilesOnHost, TransposesTheNibblesOfTheWorkedExample) {
  const Octets codes = {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE};
  auto* const out = memory(8);
  transpose_codes(*runtime_, memory(codes), 4, 4, 2, out, {device_}).value();
  EXPECT_EQ(bytes_at(out, 8), (Octets{0x40, 0xC8, 0x51, 0xD9, 0x62, 0xEA, 0x73, 0xFB}));
}

TEST_F(TilesOnHost, SwizzledThenUnswizzledIsTheIdentity) {
  for (const ScaleLayout layout : {ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (const std::int64_t rows : {1, 31, 32, 33, 127, 128, 129, 256}) {
      for (const std::int64_t cols : {1, 3, 4, 5, 8}) {
        const std::int64_t batch = rows % 3 + 1;
        const Octets scales = random_bytes(batch * rows * cols, 3, 0xFF);
        const std::int64_t padded =
            batch * quantized_scale_bytes(layout, rows, cols * 16, 16).value();
        const ScaleArray linear{memory(scales), ScaleLayout::linear, rows, cols, batch};
        const ScaleArray tiled{memory(padded), layout, rows, cols, batch};
        const ScaleArray back{memory(batch * rows * cols), ScaleLayout::linear, rows, cols, batch};
        ArrangeScalesOptions options;
        options.device = device_;
        arrange_scales(*runtime_, linear, tiled, options).value();
        arrange_scales(*runtime_, tiled, back, options).value();
        EXPECT_EQ(bytes_at(back.data, batch * rows * cols), scales);
        // What is no scale is zero: nothing else is left of the poison.
        const Octets all = bytes_at(tiled.data, padded);
        EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0L),
                  std::accumulate(scales.begin(), scales.end(), 0L));
      }
    }
  }
}

TEST_F(TilesOnHost, RowsOfLinearScalesMayBeApart) {
  constexpr std::int64_t kBatch = 2, kRows = 33, kCols = 5, kStride = 9;
  const Octets scales = random_bytes(kBatch * kRows * kCols, 5, 0xFF);
  Octets gaps;
  for (std::int64_t row = 0; row < kBatch * kRows; ++row) {
    gaps.insert(gaps.end(), scales.begin() + row * kCols, scales.begin() + (row + 1) * kCols);
    gaps.resize(gaps.size() + kStride - kCols, variants::DeviceBuffer::kPoison);
  }
  const std::int64_t tiled_bytes =
      kBatch * quantized_scale_bytes(ScaleLayout::s8x4, kRows, kCols * 16, 16).value();
  const auto linear = ScaleLayout::linear;
  const ScaleArray dense{memory(scales), linear, kRows, kCols, kBatch};
  const ScaleArray apart{memory(gaps), linear, kRows, kCols, kBatch, kStride};
  const ScaleArray of_dense{memory(tiled_bytes), ScaleLayout::s8x4, kRows, kCols, kBatch};
  const ScaleArray of_apart{memory(tiled_bytes), ScaleLayout::s8x4, kRows, kCols, kBatch};
  ScaleArray back{memory(kBatch * kRows * kStride), linear, kRows, kCols, kBatch, kStride};
  ArrangeScalesOptions options;
  options.device = device_;
  arrange_scales(*runtime_, dense, of_dense, options).value();
  arrange_scales(*runtime_, apart, of_apart, options).value();
  EXPECT_EQ(bytes_at(of_apart.data, tiled_bytes), bytes_at(of_dense.data, tiled_bytes));
  arrange_scales(*runtime_, of_apart, back, options).value();
  EXPECT_EQ(bytes_at(back.data, kBatch * kRows * kStride), gaps);

  back.stride = 4;
  EXPECT_EQ(arrange_scales(*runtime_, of_apart, back, options).error().message(),
            "diecast: shape_mismatch: arrange_scales: to has stride = 4 for 5 scales a row\n"
            "  fix: stride = 5 or more, or 0 for dense rows");
  back = of_dense;
  back.stride = 8;
  EXPECT_EQ(arrange_scales(*runtime_, dense, back, options).error().message(),
            "diecast: not_supported: arrange_scales: to has stride = 8 and s8x4 scales\n"
            "  fix: stride = 0: tiles of scales lie one behind another");
}

TEST_F(TilesOnHost, TransposesBetweenScalesThatAreApart) {
  constexpr std::int64_t kRows = 70, kCols = 100;  // scales: [70, 7] and [100, 5]
  const Tensor x = matrix(kRows, kCols, 4);
  const QuantizedTensor dense = output(x, [](QuantizedTensor& q) { q.type.square = true; });
  QuantizeNvfp4Options options;
  options.device = device_;
  quantize_nvfp4(*runtime_, x, dense, options).value();
  QuantizedTensor apart = output(x, [](QuantizedTensor& q) { q.type.square = true; });
  apart.rowwise.scale_stride = 11;
  apart.rowwise.scale = memory(apart.rowwise.scale_bytes = (kRows - 1) * 11 + 7);
  quantize_nvfp4(*runtime_, x, apart, options).value();
  apart.columnwise.scale_stride = 8;
  apart.columnwise.scale = memory(apart.columnwise.scale_bytes = (kCols - 1) * 8 + 5);
  transpose_nvfp4(*runtime_, apart, {device_}).value();
  const Octets want = bytes_at(dense.columnwise.scale, dense.columnwise.scale_bytes);
  const Octets got = bytes_at(apart.columnwise.scale, apart.columnwise.scale_bytes);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i], i % 8 < 5 ? want[i / 8 * 5 + i % 8] : variants::DeviceBuffer::kPoison) << i;
  }
  EXPECT_EQ(bytes_at(apart.columnwise.data, apart.columnwise.data_bytes),
            bytes_at(dense.columnwise.data, dense.columnwise.data_bytes));
}

TEST_F(TilesOnHost, RescalingByAPowerOfTwoMovesTheExponentAndByOneNothing) {
  Octets scales(0x7F);
  std::iota(scales.begin(), scales.end(), std::uint8_t{0});
  const ScaleArray from{memory(scales), ScaleLayout::linear, 1, 0x7F, 1};
  const ScaleArray to{memory(0x7F), ScaleLayout::linear, 1, 0x7F, 1};
  ArrangeScalesOptions options;
  options.device = device_;
  options.old_decode = memory(std::vector<float>{0.25f});
  options.new_decode = memory(std::vector<float>{0.25f});
  arrange_scales(*runtime_, from, to, options).value();
  EXPECT_EQ(bytes_at(to.data, 0x7F), scales);
  options.new_decode = memory(std::vector<float>{0.5f});  // scales get half as large
  arrange_scales(*runtime_, from, to, options).value();
  const Octets half = bytes_at(to.data, 0x7F);
  for (std::size_t i = 0x10; i < 0x7F; ++i) EXPECT_EQ(half[i], scales[i] - 8) << i;
}

TEST_F(TilesOnHost, SquaresAlongColumnsAreTheTransposeOfThoseAlongRows) {
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (const FourOverSix rule : {FourOverSix::off, FourOverSix::mae}) {
      const Tensor x = matrix(150, 100, 11);
      const auto square = [&](QuantizedTensor& out) {
        out.type.square = true;
        out.type.layout = layout;
      };
      const QuantizedTensor both = output(x, square);
      QuantizeNvfp4Options options;
      options.device = device_;
      options.four_over_six = rule;
      quantize_nvfp4(*runtime_, x, both, options).value();
      QuantizedTensor transposed = output(x, square);
      transposed.rowwise = both.rowwise;
      transpose_nvfp4(*runtime_, transposed, {device_}).value();
      expect_equal(transposed.columnwise, both.columnwise, "transpose_nvfp4");

      // And the columnwise output alone is the same.
      QuantizedTensor alone = output(x, square);
      alone.rowwise = {};
      quantize_nvfp4(*runtime_, x, alone, options).value();
      expect_equal(alone.columnwise, both.columnwise, "alone");
    }
  }
}

TEST_F(TilesOnHost, RowsAreWhatTheRowwiseQuantizerMakes) {
  for (const bool row_scaled : {false, true}) {
    const Tensor x = matrix(37, 100, 5);
    const auto described = [&](QuantizedTensor& out) { out.type.row_scaled = row_scaled; };
    const QuantizedTensor both = output(x, described);
    QuantizeNvfp4Options options;
    options.device = device_;
    quantize_nvfp4(*runtime_, x, both, options).value();
    QuantizedTensor rows = output(x, described);
    rows.columnwise = {};
    QuantizeNvfp4Options plain;
    plain.device = device_;
    quantize_nvfp4(*runtime_, x, rows, plain).value();
    expect_equal(both.rowwise, rows.rowwise, row_scaled ? "row-scaled" : "per tensor");
  }
}

// Three rows that lie 2^31 elements apart, in memory that is mapped where it is touched.
TEST_F(TilesOnHost, ElementsBeyond2To31AreFound) {
  constexpr std::int64_t kRows = 3, kCols = 80, kStride = (std::int64_t{1} << 31) + 16;
  const std::size_t bytes = (kRows - 1) * kStride * 2 + kCols * 2;
  void* const far = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (far == MAP_FAILED) GTEST_SKIP() << "8 GB of address space cannot be mapped";
  const Tensor near_rows = matrix(kRows, kCols, 3);
  Tensor far_rows = near_rows;
  far_rows.data = far;
  far_rows.row_stride = kStride;
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::memcpy(static_cast<std::uint8_t*>(far) + row * kStride * 2,
                static_cast<std::uint8_t*>(near_rows.data) + row * kCols * 2, kCols * 2);
  }
  const auto described = [](QuantizedTensor& out) { out.type.row_scaled = true; };
  const QuantizedTensor a = output(near_rows, described), b = output(far_rows, described);
  QuantizeNvfp4Options options;
  options.device = device_;
  quantize_nvfp4(*runtime_, near_rows, a, options).value();
  quantize_nvfp4(*runtime_, far_rows, b, options).value();
  expect_equal(a.rowwise, b.rowwise, "rows");
  expect_equal(a.columnwise, b.columnwise, "columns");
  munmap(far, bytes);
}

TEST_F(TilesOnHost, RowScalesForSquaresAreRefusedWithTheReason) {
  const Tensor x = matrix(16, 16, 1);
  QuantizedTensor out = output(x, [](QuantizedTensor& q) { q.type.square = true; });
  out.type.row_scaled = true;
  QuantizeNvfp4Options options;
  options.device = device_;
  const auto refused = quantize_nvfp4(*runtime_, x, out, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("one byte cannot serve 16 rows of different scale"),
            std::string::npos)
      << refused.error().message();
}

TEST_F(TilesOnHost, OneAmaxOfManyMatricesIsTheLargest) {
  std::vector<Tensor> matrices;
  for (std::uint64_t i = 0; i < 20; ++i) {  // more than one launch names
    matrices.push_back(matrix(static_cast<std::int64_t>(i * 3), 48, 2 * i));
  }
  auto* const all = reinterpret_cast<float*>(memory(4));
  auto* const one = reinterpret_cast<float*>(memory(4));
  AmaxOptions options{AmaxPer::tensor, false, device_};
  amax_shared(*runtime_, matrices, all, options).value();
  options.accumulate = false;
  for (const Tensor& x : matrices) {
    amax(*runtime_, x, one, options).value();
    options.accumulate = true;
  }
  EXPECT_EQ(*all, *one);
  EXPECT_GT(*all, 0.0f);
  matrices[3].shape = {3, 32};
  EXPECT_EQ(amax_shared(*runtime_, matrices, all, options).error().message(),
            "diecast: shape_mismatch: amax_shared: matrices of 48 and of 32 columns\n"
            "  fix: give matrices with equal columns, or call amax with accumulate = true");
}

}  // namespace
}  // namespace diecast
