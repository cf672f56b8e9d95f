// MXFP8 or MXFP4 codes and E8M0 scales, of either direction, back to a matrix of bf16, f16 or f32.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/prepared.h>
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

class PreparedDequantizeMx {
 public:
  static constexpr std::string_view kName = "dequantize_mx";
  struct Request {
    DType out = DType::bf16;
    Format format = Format::mxfp8_e4m3;
    ScaleLayout layout = ScaleLayout::linear;
    bool columnwise = false;   // x.columnwise is read
    bool whole_blocks = true;  // rows_class() of every out to come is not any, and cols % 32 == 0
    std::int64_t cols = 0;     // not 0: the kernel is made for this row length
    std::uint64_t word() const;
    // What x and out ask for; `columnwise` as in the options.
    static Request of(const QuantizedTensor& x, const Tensor& out, bool columnwise);
  };
  static Result<PreparedDequantizeMx> prepare(Runtime& runtime,
                                              const std::shared_ptr<Device>& device,
                                              const Request& request);

  std::int64_t scratch_bytes(std::int64_t, std::int64_t) const { return 0; }  // for [rows, cols]
  // Errors: as dequantize_mx(); misaligned when out breaks the request.
  Result<void> run(const QuantizedTensor& x, const Tensor& out, Stream stream) const;

 private:
  Request request_;
  std::shared_ptr<Kernel> kernel_;
};

}  // namespace diecast
