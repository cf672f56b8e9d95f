// check() of a quantized tensor: every text it can say.
#include <diecast/ops/quantized_tensor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace diecast {
namespace {

// Buffers that hold a [rows, cols] tensor in both directions, exactly.
struct Buffers {
  explicit Buffers(QuantizedTensor tensor) : view(std::move(tensor)) {
    fill(view.rowwise, view.rowwise_sizes().value(), 0);
    fill(view.columnwise, view.columnwise_sizes().value(), 1);
  }
  void fill(QuantizedSide& side, const QuantizedSide& sizes, std::size_t index) {
    side = sizes;
    side.data = bytes[2 * index].data();
    side.scale = bytes[2 * index + 1].data();
    if (sizes.amax_count > 0) side.amax = floats[index].data();
  }
  // check() looks at sizes and addresses, never at what lies there.
  std::vector<std::vector<unsigned char>> bytes{4, std::vector<unsigned char>(1)};
  std::vector<std::vector<float>> floats{2, std::vector<float>(1)};
  QuantizedTensor view;
};

QuantizedTensor nvfp4(Shape shape) {
  QuantizedTensor tensor;
  tensor.shape = shape;
  return tensor;
}

std::string message(const QuantizedTensor& tensor) {
  const auto checked = tensor.check("quantize_nvfp4", "out");
  return checked ? "ok" : checked.error().message();
}

TEST(QuantizedTensor, TellsTheSizesOfBothDirections) {
  QuantizedTensor tensor = nvfp4({3, 43, 4100});
  tensor.type.layout = ScaleLayout::s128x4;
  tensor.type.row_scaled = true;
  const QuantizedSide rowwise = tensor.rowwise_sizes().value();
  EXPECT_EQ(rowwise.data_bytes, 129 * 2056);
  EXPECT_EQ(rowwise.scale_bytes, 256 * 260);
  EXPECT_EQ(rowwise.amax_count, 129);
  const QuantizedSide columnwise = tensor.columnwise_sizes().value();
  EXPECT_EQ(columnwise.data_bytes, 4100 * 72);
  EXPECT_EQ(columnwise.scale_bytes, 4224 * 12);
  EXPECT_EQ(columnwise.amax_count, 4100);
  EXPECT_FALSE(rowwise.present());
  tensor.type.row_scaled = false;
  EXPECT_EQ(tensor.rowwise_sizes().value().amax_count, 1);
  EXPECT_EQ(tensor.columnwise_sizes().value().amax_count, 1);
}

TEST(QuantizedTensor, PassesWithEitherOrBothDirections) {
  Buffers buffers(nvfp4({129, 4096}));
  EXPECT_EQ(message(buffers.view), "ok");
  QuantizedTensor rowwise = buffers.view, columnwise = buffers.view;
  rowwise.columnwise = {};
  columnwise.rowwise = {};
  EXPECT_EQ(message(rowwise), "ok");
  EXPECT_EQ(message(columnwise), "ok");
  buffers.view.rowwise.data_bytes += 100;
  EXPECT_EQ(message(buffers.view), "ok");
}

TEST(QuantizedTensor, PassesForEveryFormat) {
  for (auto format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4}) {
    QuantizedTensor tensor = nvfp4({5, 96});
    tensor.type.format = format;
    Buffers buffers(tensor);
    EXPECT_EQ(buffers.view.rowwise.amax_count, 0);
    EXPECT_EQ(message(buffers.view), "ok") << word(format);
  }
  QuantizedTensor tiles = nvfp4({5, 96});
  tiles.type.square = true;
  tiles.type.e4m3_bound = 256;
  EXPECT_EQ(message(Buffers(tiles).view), "ok");
}

TEST(QuantizedTensor, WithNothingToHoldNeedsNoBuffers) {
  EXPECT_EQ(message(nvfp4({0, 4096})), "ok");
  EXPECT_EQ(message(nvfp4({7, 0})), "ok");
}

TEST(QuantizedTensor, NamesMissingBuffers) {
  EXPECT_EQ(message(nvfp4({129, 4096})),
            "diecast: missing_buffer: quantize_nvfp4: out: it has neither rowwise nor columnwise "
            "buffers\n  fix: set the data, scale and amax of rowwise, of columnwise, or of both");
  Buffers no_data(nvfp4({129, 4096})), no_scale = no_data, no_amax = no_data;
  no_data.view.rowwise.data = nullptr;
  EXPECT_EQ(message(no_data.view),
            "diecast: missing_buffer: quantize_nvfp4: out: the rowwise data buffer is null\n"
            "  fix: pass a buffer of 264192 bytes");
  no_scale.view.columnwise.scale = nullptr;
  EXPECT_EQ(message(no_scale.view),
            "diecast: missing_buffer: quantize_nvfp4: out: the columnwise scale buffer is null\n"
            "  fix: pass a buffer of 36864 bytes");
  no_amax.view.rowwise.amax = nullptr;
  EXPECT_EQ(message(no_amax.view),
            "diecast: missing_buffer: quantize_nvfp4: out: the rowwise amax buffer is null\n"
            "  fix: pass a buffer of 1 floats");
}

TEST(QuantizedTensor, NamesBuffersThatAreTooSmall) {
  Buffers data(nvfp4({129, 4096})), scale = data;
  data.view.rowwise.data_bytes = 264191;
  EXPECT_EQ(message(data.view),
            "diecast: shape_mismatch: quantize_nvfp4: out: the rowwise data buffer has 264191 "
            "bytes, [129, 4096] nvfp4 with linear scales needs 264192\n"
            "  fix: allocate 264192 bytes");
  scale.view.type.layout = ScaleLayout::s128x4;
  EXPECT_EQ(message(scale.view),
            "diecast: shape_mismatch: quantize_nvfp4: out: the rowwise scale buffer has 33024 "
            "bytes, [129, 4096] nvfp4 with s128x4 scales needs 65536\n"
            "  fix: allocate 65536 bytes");
}

TEST(QuantizedTensor, TakesExactlyOneAmaxOrOneARow) {
  Buffers buffers(nvfp4({129, 4096}));
  buffers.view.rowwise.amax_count = 129;
  EXPECT_EQ(message(buffers.view),
            "diecast: shape_mismatch: quantize_nvfp4: out: the rowwise amax has 129 entries where "
            "row_scaled = false needs 1\n  fix: amax_count = 1, or row_scaled = true");
  buffers.view.type.row_scaled = true;
  buffers.view.columnwise = {};
  EXPECT_EQ(message(buffers.view), "ok");
  for (std::int64_t count : {0, 1, 128, 130}) {
    buffers.view.rowwise.amax_count = count;
    EXPECT_EQ(buffers.view.check("op", "out").error().code, ErrorCode::shape_mismatch) << count;
  }
  EXPECT_EQ(message(buffers.view),
            "diecast: shape_mismatch: quantize_nvfp4: out: the rowwise amax has 130 entries where "
            "row_scaled = true needs 129\n  fix: amax_count = 129, or row_scaled = false");
}

TEST(QuantizedTensor, CountsTheTransposesAmaxByItsOwnRows) {
  QuantizedTensor tensor = nvfp4({32, 64});
  tensor.type.row_scaled = true;
  Buffers buffers(tensor);
  EXPECT_EQ(buffers.view.columnwise.amax_count, 64);
  buffers.view.columnwise.amax_count = 32;
  EXPECT_EQ(message(buffers.view),
            "diecast: shape_mismatch: quantize_nvfp4: out: the columnwise amax has 32 entries "
            "where row_scaled = true needs 64\n  fix: amax_count = 64, or row_scaled = false");
}

TEST(QuantizedType, SaysItsBlocksAndItself) {
  const QuantizedType rows;
  EXPECT_EQ(rows.block(), 16);
  EXPECT_EQ(rows.block_rows(), 1);
  EXPECT_EQ(rows.text(), "nvfp4 in 1x16 blocks, linear scales, profile te");
  const QuantizedType squares{
      .format = Format::mxfp8_e4m3, .layout = ScaleLayout::s128x4, .square = true};
  EXPECT_EQ(squares.block(), 32);
  EXPECT_EQ(squares.block_rows(), 32);
  EXPECT_EQ(squares.text(), "mxfp8_e4m3 in 32x32 blocks, s128x4 scales, profile te");
  EXPECT_TRUE(squares.check());
  EXPECT_FALSE(rows == squares);
}

TEST(QuantizedTensor, RefusesABoundThatIsNoBound) {
  QuantizedTensor tensor = nvfp4({32, 64});
  tensor.type.e4m3_bound = 240;
  EXPECT_EQ(message(tensor),
            "diecast: value_not_allowed: quantize_nvfp4: out: e4m3_bound = 240\n"
            "  fix: e4m3_bound = 448 or 256");
}

TEST(QuantizedTensor, RefusesRowScalesWhereABlockHasSeveralRowsOrNoAmax) {
  QuantizedTensor tensor = nvfp4({32, 64});
  tensor.type.row_scaled = true;
  tensor.type.square = true;
  EXPECT_EQ(message(tensor),
            "diecast: not_supported: quantize_nvfp4: out: row scales for nvfp4 in blocks of 16x16\n"
            "  fix: row_scaled = false, or nvfp4 in blocks of 1x16");
  tensor.type.format = Format::mxfp8_e4m3;
  tensor.type.square = 1 != 1;
  EXPECT_EQ(tensor.check("op", "out").error().code, ErrorCode::not_supported);
}

TEST(QuantizedTensor, PassesShapeAndSizeErrorsOnUnderItsName) {
  EXPECT_EQ(message(nvfp4({-1, 64})),
            "diecast: shape_mismatch: quantize_nvfp4: out: dimension 0 of shape [-1, 64] is "
            "negative\n  fix: every dimension is 0 or more");
  EXPECT_EQ(message(nvfp4({std::int64_t{1} << 60, 1})),
            "diecast: shape_mismatch: quantize_nvfp4: out: the codes of [1152921504606846976, 1] "
            "need more bytes than fit in 63 bits\n  fix: split the matrix into smaller ones");
}

TEST(QuantizedTensor, IsRefusedByNameWhereRowScalesAreNotTaken) {
  QuantizedTensor tensor = nvfp4({32, 64});
  EXPECT_TRUE(tensor.refuse_row_scaled("gemm_nvfp4", "a"));
  tensor.type.row_scaled = true;
  EXPECT_EQ(tensor.refuse_row_scaled("gemm_nvfp4", "a").error().message(),
            "diecast: not_supported: gemm_nvfp4: a: it is row-scaled (one amax a row), which "
            "gemm_nvfp4 does not take\n  fix: quantize a with one amax for the whole tensor");
}

}  // namespace
}  // namespace diecast
