// dequantize_nvfp4: one launch.
#include <diecast/ops/dequantize_nvfp4.h>

#include <diecast/base/text.h>

namespace diecast {
namespace {

Result<void> check_input(const QuantizedTensor& x, const Tensor& out) {
  constexpr std::string_view kOp = PreparedDequantizeNvfp4::kName;
  DIECAST_CHECK(x.check(kOp, "x"));
  if (x.format != Format::nvfp4 || x.layout != ScaleLayout::linear || x.e4m3_bound != 448 ||
      !x.rowwise.present()) {
    return Error{ErrorCode::not_supported,
                 cat(kOp, ": x is ", format_name(x.format), " with ", layout_name(x.layout),
                     " scales, E4M3 bound ", x.e4m3_bound,
                     x.rowwise.present() ? "" : ", columnwise only"),
                 "this op reads rowwise nvfp4 with linear scales and E4M3 bound 448"};
  }
  if (x.rows() != out.rows() || x.cols() != out.cols()) {
    return Error{ErrorCode::shape_mismatch,
                 cat(kOp, ": x is ", x.shape.text(), ", out is ", out.shape.text()),
                 cat("pass out with shape ", x.shape.text())};
  }
  return {};
}

}  // namespace

std::uint64_t PreparedDequantizeNvfp4::Request::word() const {
  return static_cast<std::uint64_t>(OpKind::dequantize_nvfp4) |
         static_cast<std::uint64_t>(out) << 8 | static_cast<std::uint64_t>(row_scaled) << 12 |
         static_cast<std::uint64_t>(form) << 13 | static_cast<std::uint64_t>(rows) << 14 |
         static_cast<std::uint64_t>(cols) << 24;
}

Result<PreparedDequantizeNvfp4> PreparedDequantizeNvfp4::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  Bindings bindings;
  bindings.set("COLS", request.cols).set("ROWS", rows_class_name(request.rows)).set("OUT", request.out);
  bindings.set("ROW_SCALE", request.row_scaled);
  bindings.set("GLOBAL", request.form == GlobalForm::amax ? "amax" : "decode");
  PreparedDequantizeNvfp4 prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_, preload_for(runtime, device, kName, bindings));
  return prepared;
}

Result<void> PreparedDequantizeNvfp4::run(const QuantizedTensor& x, const Tensor& out,
                                          Stream stream) const {
  DIECAST_CHECK(out.check("dequantize_nvfp4: out"));
  DIECAST_CHECK(check_input(x, out));
  if (x.row_scaled != request_.row_scaled) {
    return Error{ErrorCode::not_supported,
                 cat("dequantize_nvfp4: prepared for row_scaled = ", request_.row_scaled,
                     ", x has row_scaled = ", x.row_scaled),
                 "prepare another op for this input"};
  }
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::u8, x.rowwise.data),
                                      KernelArgument::tensor(DType::e4m3, x.rowwise.scale),
                                      KernelArgument::tensor(DType::f32, x.rowwise.amax),
                                      tensor_argument(out),
                                      rows_argument(out),
                                      cols_argument(out)};
  return kernel_->launch(arguments, stream);
}

Result<void> dequantize_nvfp4(Runtime& runtime, const QuantizedTensor& x, const Tensor& out,
                              const DequantizeNvfp4Options& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const PreparedDequantizeNvfp4::Request request{out.dtype, x.row_scaled, options.form,
                                                 rows_class(out), 0};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedDequantizeNvfp4>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

}  // namespace diecast
