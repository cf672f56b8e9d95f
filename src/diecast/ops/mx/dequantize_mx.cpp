// dequantize_mx: one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/mx/dequantize_mx.h>

namespace diecast {
Result<void> check_dequantize_mx(const QuantizedTensor& x, const Tensor& out, bool columnwise) {
  constexpr std::string_view kOp = PreparedDequantizeMx::kName;
  DIECAST_CHECK(out.check("dequantize_mx: out"));
  if (x.type.format == Format::nvfp4) {
    return Error{ErrorCode::not_supported, cat(kOp, ": x is nvfp4"),
                 "this op reads mxfp8_e4m3, mxfp8_e5m2 and mxfp4"};
  }
  return x.check_read(kOp, columnwise, out);
}

DequantizeMxRequest DequantizeMxRequest::of(const QuantizedTensor& x, const Tensor& out,
                                            bool columnwise) {
  const bool whole = rows_class(out) != RowsClass::any && out.cols() % 32 == 0;
  return {.out = out.dtype,
          .format = x.type.format,
          .layout = x.type.layout,
          .columnwise = columnwise || (!x.rowwise.present() && x.columnwise.present()),
          .rows = whole ? RowsClass::apart : RowsClass::any};
}

KernelWanted DequantizeMxRequest::kernel(const DeviceProperties&) const {
  Bindings bindings;
  bindings.set("SIDES", word(columnwise ? Sides::columnwise : Sides::rowwise));
  return kernel_of(kName, *this, std::move(bindings));
}

Result<void> PreparedDequantizeMx::run(const QuantizedTensor& x, const Tensor& out,
                                       Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_dequantize_mx(x, out, request_.columnwise));
  Request asked = request_;
  asked.format = x.type.format;
  asked.layout = x.type.layout;
  if (asked != request_) return not_as_prepared(kName, "x", request_, asked);
  const QuantizedSide& side = x.side(request_.columnwise);
  const bool transposed = request_.columnwise && is_four_bit(x.type.format);
  const std::int64_t pitch = transposed ? side.scale_stride : 0;
  return launch(args::DequantizeMx{.codes = side.data,
                                   .scales = {side.scale, side.scale_stride - pitch},
                                   .out = tensor_argument(out),
                                   .rows = rows_argument(out),
                                   .cols = out.cols(),
                                   .pitch_t = pitch},
                stream, {"out", &out, request_.rows, request_.cols});
}

Result<void> dequantize_mx(Runtime& runtime, const QuantizedTensor& x, const Tensor& out,
                           const DequantizeMxOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = DequantizeMxRequest::of(x, out, options.columnwise);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedDequantizeMx>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

}  // namespace diecast
