// quantize_nvfp4: per tensor an amax (unless it is given) and one launch, row-scaled one launch.
#include <diecast/ops/quantize_nvfp4.h>

#include <diecast/base/text.h>

namespace diecast {
namespace {

// What this op makes of the many things a QuantizedTensor can be.
Result<void> check_output(const Tensor& x, const QuantizedTensor& out) {
  constexpr std::string_view kOp = PreparedQuantizeNvfp4::kName;
  DIECAST_CHECK(out.check(kOp, "out"));
  if (out.format != Format::nvfp4) {
    return Error{ErrorCode::not_supported, cat(kOp, ": out is ", format_name(out.format), ", not nvfp4"),
                 "describe out with format = Format::nvfp4"};
  }
  if (out.block_rows != 1 || out.layout != ScaleLayout::linear || out.columnwise.present() ||
      out.e4m3_bound != 448) {
    return Error{ErrorCode::not_supported,
                 cat(kOp, ": out wants ", out.block_rows, "x", out.block_cols, " blocks, ",
                     layout_name(out.layout), " scales, E4M3 bound ", out.e4m3_bound,
                     out.columnwise.present() ? ", columnwise output" : ""),
                 "this op writes rowwise 1x16 blocks with linear scales and E4M3 bound 448"};
  }
  if (x.rows() != out.rows() || x.cols() != out.cols()) {
    return Error{ErrorCode::shape_mismatch,
                 cat(kOp, ": x is ", x.shape.text(), ", out is ", out.shape.text()),
                 cat("describe out with shape ", x.shape.text())};
  }
  return {};
}

}  // namespace

std::uint64_t PreparedQuantizeNvfp4::Request::word() const {
  return static_cast<std::uint64_t>(OpKind::quantize_nvfp4) | static_cast<std::uint64_t>(in) << 8 |
         static_cast<std::uint64_t>(row_scaled) << 12 |
         static_cast<std::uint64_t>(amax_given) << 13 | static_cast<std::uint64_t>(rows) << 14 |
         static_cast<std::uint64_t>(profile) << 16 | static_cast<std::uint64_t>(cols) << 24;
}

Result<PreparedQuantizeNvfp4> PreparedQuantizeNvfp4::prepare(Runtime& runtime,
                                                             const std::shared_ptr<Device>& device,
                                                             const Request& request) {
  if (request.row_scaled && request.amax_given) {
    return Error{ErrorCode::not_supported, "quantize_nvfp4: a row-scaled amax cannot be given",
                 "leave amax_given false: the kernel finds each row's amax in the same pass"};
  }
  Bindings bindings;
  bindings.set("COLS", request.cols).set("IN", request.in);
  bindings.set("PROFILE", profile_name(request.profile));
  PreparedQuantizeNvfp4 prepared;
  prepared.request_ = request;
  if (request.row_scaled) {
    bindings.set("ROWS", request.rows == RowsClass::any ? "any" : "apart");
    // The host has no threads to spread a row over: fewer fibers, fewer switches.
    if (device->properties().cc == 0) bindings.set("THREADS", 32);
    DIECAST_TRY(prepared.quantize_,
                preload_for(runtime, device, "quantize_nvfp4_row_scaled", bindings));
    return prepared;
  }
  bindings.set("ROWS", rows_class_name(request.rows));
  DIECAST_TRY(prepared.quantize_, preload_for(runtime, device, kName, bindings));
  if (!request.amax_given) {
    const PreparedAmax::Request amax{request.in, false, request.rows, request.cols};
    DIECAST_TRY(prepared.amax_, PreparedAmax::prepare(runtime, device, amax));
  }
  return prepared;
}

Result<void> PreparedQuantizeNvfp4::run(const Tensor& x, const QuantizedTensor& out,
                                        Stream stream) const {
  DIECAST_CHECK(x.check("quantize_nvfp4: x"));
  DIECAST_CHECK(check_output(x, out));
  if (out.row_scaled != request_.row_scaled || out.profile != request_.profile) {
    return Error{ErrorCode::not_supported,
                 cat("quantize_nvfp4: prepared for row_scaled = ", request_.row_scaled, ", profile ",
                     profile_name(request_.profile), "; out has row_scaled = ", out.row_scaled,
                     ", profile ", profile_name(out.profile)),
                 "prepare another op for this output"};
  }
  if (amax_) DIECAST_CHECK(amax_->run(x, out.rowwise.amax, false, stream));
  const KernelArgument arguments[] = {tensor_argument(x),
                                      KernelArgument::tensor(DType::f32, out.rowwise.amax),
                                      KernelArgument::tensor(DType::u8, out.rowwise.data),
                                      KernelArgument::tensor(DType::e4m3, out.rowwise.scale),
                                      rows_argument(x),
                                      cols_argument(x)};
  return quantize_->launch(arguments, stream);
}

Result<void> quantize_nvfp4(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                            const QuantizeNvfp4Options& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const PreparedQuantizeNvfp4::Request request{
      x.dtype, out.row_scaled, options.amax_given, rows_class(x), out.profile, 0};
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeNvfp4>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

}  // namespace diecast
