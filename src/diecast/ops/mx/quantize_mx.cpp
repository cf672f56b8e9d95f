// quantize_mx: one launch, of quantize_mx for 1x32 blocks along rows, else of quantize_mx_tiles.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/mx/quantize_mx.h>

namespace diecast {
Result<void> check_quantize_mx(const Tensor& x, const QuantizedTensor& out) {
  constexpr std::string_view kOp = PreparedQuantizeMx::kName;
  DIECAST_CHECK(x.check("quantize_mx: x"));
  DIECAST_CHECK(out.check(kOp, "out"));
  if (out.type.format == Format::nvfp4) {
    return Error{ErrorCode::not_supported, cat(kOp, ": out is nvfp4"),
                 "describe out with format = Format::mxfp8_e4m3, mxfp8_e5m2 or mxfp4"};
  }
  if (x.rows() == out.rows() && x.cols() == out.cols()) return {};
  return shapes_differ(kOp, "x", x.shape, out.shape);
}

QuantizeMxRequest QuantizeMxRequest::of(const Tensor& x, const QuantizedTensor& out, MxMode mode,
                                        bool grouped) {
  QuantizeMxRequest request{
      .in = x.dtype, .mode = mode, .out = out.type, .sides = out.sides(), .rows = RowsClass::any};
  request.out.e4m3_bound = QuantizedType{}.e4m3_bound;  // without meaning here
  const bool along_rows = request.along_rows() && !grouped;
  request.scales_apart = along_rows && out.rowwise.scale_stride != 0;
  const int piece = along_rows ? 16 : 32;
  if (rows_class(x) != RowsClass::any && x.cols() % piece == 0) request.rows = RowsClass::apart;
  return request;
}

KernelWanted QuantizeMxRequest::kernel(const DeviceProperties&) const {
  if (along_rows()) return kernel_of("quantize_mx", *this);
  return kernel_of("quantize_mx_tiles", *this, {{"BLOCK_ROWS", Value::integer(out.block_rows())}});
}

Result<void> PreparedQuantizeMx::run(const Tensor& x, const QuantizedTensor& out,
                                     Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_quantize_mx(x, out));
  if (x.rows() == 0 || x.cols() == 0) return {};
  Request wanted = Request::of(x, out, request_.mode);
  wanted.rows = request_.rows;  // the launch checks what x must be for these
  wanted.cols = request_.cols;
  wanted.in = request_.in;
  if (wanted != request_) return not_as_prepared(kName, "out", request_, wanted);
  const RequestedRows requested{"x", &x, request_.rows, request_.cols};
  const QuantizedSide &across = out.rowwise, &down = out.columnwise;
  if (request_.along_rows()) {
    return launch(args::QuantizeMx{.x = tensor_argument(x),
                                   .codes = across.data,
                                   .scales = {across.scale, across.scale_stride},
                                   .rows = rows_argument(x),
                                   .cols = x.cols()},
                  stream, requested);
  }
  const std::int64_t pitch = is_four_bit(out.type.format) ? down.scale_stride : 0;
  return launch(args::QuantizeMxTiles{.x = tensor_argument(x),
                                      .codes = across.data,
                                      .scales = {across.scale, across.scale_stride},
                                      .codes_t = down.data,
                                      .scales_t = {down.scale, down.scale_stride - pitch},
                                      .rows = rows_argument(x),
                                      .cols = x.cols(),
                                      .count = 0,
                                      .pitch_t = pitch},
                stream, requested);
}

Result<void> quantize_mx(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                         const QuantizeMxOptions& options, Stream stream) {
  // A matrix without elements has no directions to prepare for.
  if (x.rows() == 0 || x.cols() == 0) return check_quantize_mx(x, out);
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = QuantizeMxRequest::of(x, out, options.mode);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeMx>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

}  // namespace diecast
