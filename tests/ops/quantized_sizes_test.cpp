// The sizes of codes and block scales and where a block scale lies: what every quantized tensor,
// group and kernel agrees on.
#include <diecast/ops/quantized_tensor.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace diecast {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Format, LayoutAndProfileHaveNames) {
  EXPECT_EQ(word(Format::nvfp4), "nvfp4");
  EXPECT_EQ(word(Format::mxfp8_e4m3), "mxfp8_e4m3");
  EXPECT_EQ(word(Format::mxfp8_e5m2), "mxfp8_e5m2");
  EXPECT_EQ(word(Format::mxfp4), "mxfp4");
  EXPECT_EQ(word(ScaleLayout::linear), "linear");
  EXPECT_EQ(word(ScaleLayout::s128x4), "s128x4");
  EXPECT_EQ(word(ScaleLayout::s8x4), "s8x4");
  EXPECT_EQ(word(Profile::te), "te");
  EXPECT_EQ(word(Profile::te_ref), "te_ref");
  EXPECT_EQ(word(Profile::flashinfer_fast), "flashinfer_fast");
  EXPECT_EQ(word(Profile::flashinfer_dsl_fast), "flashinfer_dsl_fast");
}

TEST(QuantizedSizes, DataIsHalfAByteACodeInWholeBlocksOrAByteAnElement) {
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, 129, 4096, 16).value(), 129 * 2048);
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, 3, 17, 16).value(), 3 * 16);
  EXPECT_EQ(quantized_data_bytes(Format::mxfp4, 3, 33, 32).value(), 3 * 32);
  EXPECT_EQ(quantized_data_bytes(Format::mxfp8_e4m3, 3, 33, 32).value(), 99);
  EXPECT_EQ(quantized_data_bytes(Format::mxfp8_e5m2, 3, 33, 32).value(), 99);
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, 0, 17, 16).value(), 0);
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, 17, 0, 16).value(), 0);
}

TEST(QuantizedSizes, ScalesArePaddedToTheLayoutsTiles) {
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::linear, 129, 4096, 16).value(), 129 * 256);
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::linear, 5, 33, 16).value(), 5 * 3);
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::s128x4, 129, 33, 16).value(), 256 * 4);
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::s8x4, 129, 33, 16).value(), 136 * 4);
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::s128x4, 0, 33, 16).value(), 0);
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::s128x4, 1, 0, 16).value(), 0);
}

TEST(QuantizedSizes, ReachAsFarAs63Bits) {
  const std::int64_t cols = (kMax / 16) * 16;
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, 2, cols, 16).value(), cols);
  EXPECT_EQ(quantized_data_bytes(Format::mxfp8_e4m3, 1, kMax, 32).value(), kMax);
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::linear, 16, cols, 16).value(), cols);
}

TEST(QuantizedSizes, BeyondThatAreAnError) {
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, 1, kMax, 16).error().message(),
            "diecast: shape_mismatch: the codes of [1, 9223372036854775807] need more bytes than "
            "fit in 63 bits\n  fix: split the matrix into smaller ones");
  EXPECT_EQ(
      quantized_scale_bytes(ScaleLayout::s128x4, kMax, 16, 16).error().message(),
      "diecast: shape_mismatch: the block scales of [9223372036854775807, 16] need more bytes than "
      "fit in 63 bits\n  fix: split the matrix into smaller ones");
  EXPECT_FALSE(quantized_data_bytes(Format::nvfp4, 3, (kMax / 16) * 16, 16));
  EXPECT_FALSE(quantized_data_bytes(Format::mxfp8_e4m3, 2, kMax / 2 + 1, 32));
  EXPECT_FALSE(quantized_scale_bytes(ScaleLayout::s8x4, kMax / 8 * 8, 17, 16));
}

TEST(QuantizedSizes, RefuseNegativeSizesAndImpossibleBlocks) {
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, -1, 16, 16).error().message(),
            "diecast: invalid_argument: a quantized matrix of -1 rows and 16 columns\n"
            "  fix: rows and columns are 0 or more");
  EXPECT_EQ(quantized_scale_bytes(ScaleLayout::linear, 1, 16, 0).error().message(),
            "diecast: invalid_argument: a block of 0 columns\n"
            "  fix: block = 16 for nvfp4, 32 for mx formats");
  EXPECT_EQ(quantized_data_bytes(Format::nvfp4, 1, 16, 15).error().code,
            ErrorCode::invalid_argument);
}

TEST(ScaleOffset, EqualsTheWorkedExamples) {
  struct Example {
    std::int64_t row, block, blocks, s128x4, s8x4;
  };
  const Example examples[] = {
      {0, 1, 8, 1, 1},         {0, 4, 8, 512, 32},      {1, 0, 8, 16, 4},
      {31, 3, 8, 499, 223},    {32, 0, 8, 4, 256},      {33, 5, 8, 533, 293},
      {127, 7, 8, 1023, 1023}, {128, 0, 8, 1024, 1024}, {200, 6, 8, 1674, 1634},
      {5, 2, 3, 82, 22},       {129, 2, 3, 530, 518},
  };
  for (const Example& e : examples) {
    SCOPED_TRACE(::testing::Message() << e.row << ", " << e.block << " of " << e.blocks);
    EXPECT_EQ(scale_offset(ScaleLayout::s128x4, e.row, e.block, e.blocks), e.s128x4);
    EXPECT_EQ(scale_offset(ScaleLayout::s8x4, e.row, e.block, e.blocks), e.s8x4);
    EXPECT_EQ(scale_offset(ScaleLayout::linear, e.row, e.block, e.blocks),
              e.row * e.blocks + e.block);
  }
}

TEST(ScaleOffset, Reaches64Bits) {
  const std::int64_t row = std::int64_t{1} << 33, blocks = 4096;
  EXPECT_EQ(scale_offset(ScaleLayout::linear, row, 7, blocks), (std::int64_t{1} << 45) + 7);
  EXPECT_EQ(scale_offset(ScaleLayout::s128x4, row, 4, blocks), (std::int64_t{1} << 45) + 512);
  EXPECT_EQ(scale_offset(ScaleLayout::s8x4, row, 4, blocks), (std::int64_t{1} << 45) + 32);
}

// Every byte of the padded buffer belongs to exactly one place of the padded scale matrix.
TEST(ScaleOffset, IsABijectionOntoThePaddedBuffer) {
  for (auto layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (std::int64_t rows : {1, 31, 32, 33, 127, 128, 129, 256}) {
      for (std::int64_t blocks : {1, 3, 4, 5, 8}) {
        SCOPED_TRACE(::testing::Message() << word(layout) << " " << rows << " " << blocks);
        const std::int64_t bytes = quantized_scale_bytes(layout, rows, blocks * 16, 16).value();
        const auto padded = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b * b; };
        const std::int64_t padded_rows = padded(rows, scale_tile_rows(layout));
        const std::int64_t padded_blocks = padded(blocks, scale_tile_cols(layout));
        ASSERT_EQ(bytes, padded_rows * padded_blocks);
        std::vector<int> hits(static_cast<std::size_t>(bytes), 0);
        for (std::int64_t row = 0; row < padded_rows; ++row) {
          for (std::int64_t block = 0; block < padded_blocks; ++block) {
            const std::int64_t offset = scale_offset(layout, row, block, blocks);
            ASSERT_GE(offset, 0);
            ASSERT_LT(offset, bytes);
            ++hits[static_cast<std::size_t>(offset)];
          }
        }
        EXPECT_EQ(hits, std::vector<int>(hits.size(), 1));
      }
    }
  }
}

}  // namespace
}  // namespace diecast
