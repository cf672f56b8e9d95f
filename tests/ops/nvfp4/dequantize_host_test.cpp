// dequantize_nvfp4 of either direction of a quantized tensor, as a caller has it: a columnwise side
// is the rowwise one of the transpose, and comes back as that.

#include "how_many.h"
#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class DequantizeNvfp4 : public TilesOnHost {
 protected:
  template <class Change>
  QuantizedTensor quantized(const Tensor& x, Change change) {
    const QuantizedTensor out = output(x, change);
    QuantizeNvfp4Options options;
    options.device = device_;
    quantize_nvfp4(*runtime_, x, out, options).value();
    return out;
  }
  Tensor room(std::int64_t rows, std::int64_t cols, DType dtype) {
    return {memory(rows * cols * dtype_bits(dtype) / 8), dtype, Shape{rows, cols}, 0, nullptr};
  }
  // The columns' side as the rows' of a matrix of its own.
  static QuantizedTensor transpose_of(const QuantizedTensor& q) {
    QuantizedTensor out = q;
    out.shape = Shape{q.cols(), q.rows()};
    out.rowwise = q.columnwise;
    out.columnwise = {};
    return out;
  }
  void expect_columns_back(const QuantizedTensor& q, DType dtype, GlobalForm form) {
    const Tensor back = room(q.rows(), q.cols(), dtype), other = room(q.cols(), q.rows(), dtype);
    dequantize_nvfp4(*runtime_, q, back, {form, device_, true}).value();
    dequantize_nvfp4(*runtime_, transpose_of(q), other, {form, device_}).value();
    const std::int64_t bytes = dtype_bits(dtype) / 8;
    for (std::int64_t row = 0; row < q.rows(); ++row) {
      for (std::int64_t col = 0; col < q.cols(); ++col) {
        ASSERT_EQ(
            bytes_at(static_cast<std::uint8_t*>(back.data) + (row * q.cols() + col) * bytes, bytes),
            bytes_at(static_cast<std::uint8_t*>(other.data) + (col * q.rows() + row) * bytes,
                     bytes))
            << row << " " << col << " " << word(q.type.layout);
      }
    }
  }
};

// Every day each two of layout, kind and type; else all.
TEST_F(DequantizeNvfp4, ColumnsComeBackAsTheRowsOfTheTranspose) {
  const Tensor x = matrix(37, 50, 3);
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (const int kind : {0, 1, 2}) {  // per tensor, row-scaled, 16x16 blocks
      const QuantizedTensor q = quantized(x, [&](QuantizedTensor& out) {
        out.type.layout = layout;
        out.type.row_scaled = kind == 1;
        out.type.square = kind == 2;
      });
      int sum = static_cast<int>(layout) + kind;
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        if (!testing::how_many(sum++ % 3 == 0, true, true)) continue;
        expect_columns_back(q, dtype, GlobalForm::amax);
        if (dtype == DType::f32) expect_columns_back(q, dtype, GlobalForm::decode);
      }
    }
  }
}

TEST_F(DequantizeNvfp4, AColumnwiseSideAloneIsTheOneThatIsRead) {
  QuantizedTensor q = quantized(matrix(16, 32, 5), [](QuantizedTensor&) {});
  const Tensor both = room(16, 32, DType::f32), alone = room(16, 32, DType::f32);
  dequantize_nvfp4(*runtime_, q, both, {GlobalForm::amax, device_, true}).value();
  using Request = PreparedDequantizeNvfp4::Request;
  const DequantizeNvfp4Options rows{GlobalForm::amax, device_};
  const auto prepared =
      PreparedDequantizeNvfp4::prepare(*runtime_, device_, Request::of(q, alone, rows)).value();
  q.rowwise = {};
  dequantize_nvfp4(*runtime_, q, alone, rows).value();
  EXPECT_EQ(bytes_at(alone.data, 16 * 32 * 4), bytes_at(both.data, 16 * 32 * 4));
  EXPECT_EQ(prepared.run(q, alone, {}).error().message(),
            "diecast: not_supported: dequantize_nvfp4: prepared for columnwise = false, x is "
            "columnwise only\n  fix: prepare with columnwise = true");
  q.type.format = Format::mxfp4;
  EXPECT_EQ(prepared.run(q, alone, {}).error().message(),
            "diecast: not_supported: dequantize_nvfp4: x is mxfp4\n"
            "  fix: this op reads nvfp4; dequantize_mx reads the mx formats");
}

// The columns of a matrix whose rows are counted on the device are as long as that count says.
TEST_F(DequantizeNvfp4, ColumnsOfRowsThatCountOnTheDevice) {
  constexpr std::int64_t kRows = 20, kMost = 70, kCols = 24;
  const std::int64_t count = kRows;
  const QuantizedTensor q = quantized(matrix(kRows, kCols, 7), [](QuantizedTensor&) {});
  const Tensor want = room(kRows, kCols, DType::f32);
  dequantize_nvfp4(*runtime_, q, want, {GlobalForm::amax, device_, true}).value();
  QuantizedTensor most = q;
  most.shape = Shape{kMost, kCols};
  const QuantizedSide sizes = most.columnwise_sizes().value();
  most.columnwise.data_bytes = sizes.data_bytes;
  most.columnwise.scale_bytes = sizes.scale_bytes;
  most.rowwise = {};
  Tensor back = room(kMost, kCols, DType::f32);
  back.device_rows = &count;
  dequantize_nvfp4(*runtime_, most, back, {GlobalForm::amax, device_}).value();
  EXPECT_EQ(bytes_at(back.data, kRows * kCols * 4), bytes_at(want.data, kRows * kCols * 4));
  const Octets rest = bytes_at(static_cast<float*>(back.data) + kRows * kCols, 4);
  EXPECT_EQ(rest, Octets(4, variants::DeviceBuffer::kPoison));
}

}  // namespace
}  // namespace diecast
