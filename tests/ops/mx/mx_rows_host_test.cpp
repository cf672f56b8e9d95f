// Rows that are counted on the device, far fewer than the host's bound: columns are as long as the
// count says, in codes and in scales, and nothing behind them is touched.
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

#include "ops/tiles_fixture.h"

namespace diecast {
namespace {

class MxRows : public TilesOnHost {
 protected:
  static constexpr std::int64_t kRows = 20, kMost = 150, kCols = 40;

  // Buffers of `most` rows, of which `few` describes what is to be written.
  void expect_start(const QuantizedSide& most, const QuantizedSide& few, const std::string& what) {
    const auto same = [&](const void* a, std::int64_t all, const void* b, std::int64_t bytes) {
      Octets want = bytes_at(b, bytes);
      want.resize(static_cast<std::size_t>(all), variants::DeviceBuffer::kPoison);
      EXPECT_EQ(bytes_at(a, all), want) << what;
    };
    same(most.data, most.data_bytes, few.data, few.data_bytes);
    same(most.scale, most.scale_bytes, few.scale, few.scale_bytes);
  }
  // x with a bound and a count, and the rows that count alone.
  Tensor counted() {
    Tensor x = matrix(kRows, kCols, 4, kMost - kRows);
    x.device_rows = &count_;
    return x;
  }
  static Tensor alone(Tensor x) {
    x.shape = Shape{kRows, kCols};
    x.device_rows = nullptr;
    return x;
  }

  const std::int64_t count_ = kRows;
};

TEST_F(MxRows, ColumnsAreAsLongAsTheCount) {
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp4}) {
    for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4}) {
      const Tensor x = counted();
      const auto described = [&](QuantizedTensor& out) {
        out.type.format = format;
        out.type.layout = layout;
        out.type.profile = Profile::torchao;
      };
      const QuantizedTensor most = output(x, described), few = output(alone(x), described);
      quantize_mx(*runtime_, x, most, {MxMode::floor, device_}).value();
      quantize_mx(*runtime_, alone(x), few, {MxMode::floor, device_}).value();
      expect_start(most.rowwise, few.rowwise, "rows");
      expect_start(most.columnwise, few.columnwise, "columns");
      const Tensor back = counted(), want = alone(counted());
      dequantize_mx(*runtime_, most, back, {device_, true}).value();
      dequantize_mx(*runtime_, few, want, {device_, true}).value();
      const std::int64_t bytes = (kRows - 1) * x.stride() * dtype_bits(x.dtype) / 8;
      EXPECT_EQ(bytes_at(back.data, bytes), bytes_at(want.data, bytes)) << "back";
    }
  }
}

TEST_F(MxRows, ACountBeyondTheBoundIsTheBound) {
  const std::int64_t beyond = kMost + 1000;
  const Tensor whole = matrix(kRows, kCols, 4);
  Tensor counted = whole;
  counted.device_rows = &beyond;
  QuantizeNvfp4Options options;
  options.device = device_;
  QuantizedTensor out[2];
  for (QuantizedTensor& one : out) {
    one.shape = whole.shape;
    one.rowwise = one.rowwise_sizes().value();
    allocate(one.rowwise);
  }
  quantize_nvfp4(*runtime_, counted, out[0], options).value();
  quantize_nvfp4(*runtime_, whole, out[1], options).value();
  expect_equal(out[0].rowwise, out[1].rowwise, "a count beyond the bound");
}

}  // namespace
}  // namespace diecast
