// MXFP8 or MXFP4 codes and E8M0 scales, of either direction, back to a matrix of bf16, f16 or f32.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/one_kernel.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <memory>

namespace diecast {

struct DequantizeMxOptions {
  std::shared_ptr<Device> device{};  // null: Runtime::default_device()
  bool columnwise = false;           // x's columnwise side is read, as it is where x has no other
};

// x: an MX format, 1x32 or 32x32 blocks along rows or columns, any scale layout. out: bf16, f16 or
// f32 of x's shape, rows may be apart. An element is its code's value times 2^(scale - 127); scale
// 255 gives NaN. With out.device_rows x's columnwise buffers are as for that many rows. Errors:
// dtype_mismatch, missing_buffer, misaligned, shape_mismatch, not_supported, and those of
// preparing.
Result<void> dequantize_mx(Runtime& runtime, const QuantizedTensor& x, const Tensor& out,
                           const DequantizeMxOptions& options = {}, Stream stream = {});

// Its errors that no device decides.
Result<void> check_dequantize_mx(const QuantizedTensor& x, const Tensor& out, bool columnwise);

struct DequantizeMxRequest {
  static constexpr std::string_view kName = "dequantize_mx";
  DType out = DType::bf16;
  Format format = Format::mxfp8_e4m3;
  ScaleLayout layout = ScaleLayout::linear;
  bool columnwise = false;  // x.columnwise is read
  // Promised of every out to come, apart or any: `any` also where cols % 32 != 0.
  RowsClass rows = RowsClass::apart;
  std::int64_t cols = 0;  // not 0: the kernel is made for this row length

  template <class Self, class As>
  static constexpr void fields(Self& self, As&& as) {
    as("OUT", self.out), as("FORMAT", self.format), as("LAYOUT", self.layout);
    as("columnwise", self.columnwise), as("ROWS", self.rows), as("COLS", self.cols);
  }
  // What x and out ask for; `columnwise` as in the options.
  static DequantizeMxRequest of(const QuantizedTensor& x, const Tensor& out, bool columnwise);
  KernelWanted kernel(const DeviceProperties& device) const;
};

class PreparedDequantizeMx : public OneKernel<PreparedDequantizeMx, DequantizeMxRequest> {
 public:
  // Errors: as dequantize_mx(); misaligned when out breaks the request.
  Result<void> run(const QuantizedTensor& x, const Tensor& out, Stream stream) const;
};

}  // namespace diecast
