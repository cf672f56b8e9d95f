// dequantize_mx: one launch.
#include <diecast/base/text.h>
#include <diecast/ops/dequantize_mx.h>

namespace diecast {
namespace {

Result<void> check_mx_input(const QuantizedTensor& x, const Tensor& out, bool columnwise) {
  constexpr std::string_view kOp = PreparedDequantizeMx::kName;
  DIECAST_CHECK(out.check("dequantize_mx: out"));
  if (x.format == Format::nvfp4) {
    return Error{ErrorCode::not_supported, cat(kOp, ": x is nvfp4"),
                 "this op reads mxfp8_e4m3, mxfp8_e5m2 and mxfp4"};
  }
  return x.check_read(kOp, columnwise, out);
}

}  // namespace

std::uint64_t PreparedDequantizeMx::Request::word() const {
  return request_word(OpKind::dequantize_mx)
      .add<4>(out)
      .add<2>(format)
      .add<2>(layout)
      .add<1>(columnwise)
      .add<1>(whole_blocks)
      .add<46>(cols)
      .word();
}

PreparedDequantizeMx::Request PreparedDequantizeMx::Request::of(const QuantizedTensor& x,
                                                                const Tensor& out,
                                                                bool columnwise) {
  Request request{out.dtype, x.format, x.layout};
  request.columnwise = columnwise || (!x.rowwise.present() && x.columnwise.present());
  request.whole_blocks = rows_class(out) != RowsClass::any && out.cols() % 32 == 0;
  return request;
}

Result<PreparedDequantizeMx> PreparedDequantizeMx::prepare(Runtime& runtime,
                                                           const std::shared_ptr<Device>& device,
                                                           const Request& request) {
  Bindings bindings;
  bindings.set("COLS", request.cols).set("ROWS", request.whole_blocks ? "apart" : "any");
  bindings.set("OUT", request.out).set("FORMAT", format_name(request.format));
  bindings.set("LAYOUT", layout_name(request.layout));
  bindings.set("DIRECTION", request.columnwise ? "columnwise" : "rowwise");
  PreparedDequantizeMx prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedDequantizeMx::run(const QuantizedTensor& x, const Tensor& out,
                                       Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_CHECK(check_mx_input(x, out, request_.columnwise));
  if (x.format != request_.format || x.layout != request_.layout) {
    return Error{ErrorCode::not_supported,
                 cat("dequantize_mx: prepared for ", format_name(request_.format), " with ",
                     layout_name(request_.layout), " scales, x is ", format_name(x.format),
                     " with ", layout_name(x.layout), " scales"),
                 "prepare another op for this input"};
  }
  const QuantizedSide& side = x.side(request_.columnwise);
  const bool transposed = request_.columnwise && is_four_bit(x.format);
  const std::int64_t pitch = transposed ? side.scale_stride : 0;
  const KernelArgument arguments[] = {
      KernelArgument::tensor(DType::u8, side.data),
      KernelArgument::tensor(DType::e8m0, side.scale, side.scale_stride - pitch),
      tensor_argument(out),
      rows_argument(out),
      cols_argument(out),
      KernelArgument::size(pitch)};
  return launch_op(kName, *kernel_, arguments, stream,
                   requested_blocks("out", out, request_.whole_blocks, request_.cols));
}

Result<void> dequantize_mx(Runtime& runtime, const QuantizedTensor& x, const Tensor& out,
                           const DequantizeMxOptions& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = PreparedDequantizeMx::Request::of(x, out, options.columnwise);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedDequantizeMx>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

}  // namespace diecast
