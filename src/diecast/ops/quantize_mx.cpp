// quantize_mx: one launch, of quantize_mx for 1x32 blocks along rows, else of quantize_mx_tiles.
#include <diecast/base/text.h>
#include <diecast/ops/quantize_mx.h>

namespace diecast {

std::string_view mx_mode_name(MxMode mode) {
  constexpr std::string_view names[] = {"rceil", "floor", "ceil", "even"};
  return name_of(mode, names);
}

namespace {

Result<void> check_mx_output(const Tensor& x, const QuantizedTensor& out) {
  constexpr std::string_view kOp = PreparedQuantizeMx::kName;
  DIECAST_CHECK(x.check("quantize_mx: x"));
  DIECAST_CHECK(out.check(kOp, "out"));
  if (out.format == Format::nvfp4) {
    return Error{ErrorCode::not_supported, cat(kOp, ": out is nvfp4"),
                 "describe out with format = Format::mxfp8_e4m3, mxfp8_e5m2 or mxfp4"};
  }
  if (x.rows() == out.rows() && x.cols() == out.cols()) return {};
  return shapes_differ(kOp, "x", x.shape, out.shape);
}

}  // namespace

RequestWord<63> PreparedQuantizeMx::Request::fields(OpKind kind) const {
  return request_word(kind)
      .add<4>(in)
      .add<2>(format)
      .add<2>(mode)
      .add<4>(profile)
      .add<2>(layout)
      .add<1>(rowwise)
      .add<1>(columnwise)
      .add<1>(square_blocks)
      .add<1>(whole_blocks)
      .add<37>(cols);
}

std::uint64_t PreparedQuantizeMx::Request::word() const {
  return fields(OpKind::quantize_mx).add<1>(scales_apart && !needs_tiles()).word();
}

PreparedQuantizeMx::Request PreparedQuantizeMx::Request::of(const Tensor& x,
                                                            const QuantizedTensor& out, MxMode mode,
                                                            bool grouped) {
  Request request{x.dtype, out.format, mode, out.profile, out.layout};
  request.columnwise = out.columnwise.present();
  request.rowwise = out.rowwise.present() || !request.columnwise;
  request.square_blocks = out.block_rows != 1;
  request.scales_apart = out.rowwise.scale_stride != 0;
  const int piece = grouped || request.needs_tiles() ? 32 : 16;
  request.whole_blocks = rows_class(x) != RowsClass::any && x.cols() % piece == 0;
  return request;
}

Bindings PreparedQuantizeMx::Request::bindings(bool grouped) const {
  Bindings out;
  out.set("COLS", cols).set("ROWS", whole_blocks ? "apart" : "any");
  out.set("IN", in).set("FORMAT", format_name(format));
  out.set("MODE", mx_mode_name(mode)).set("LAYOUT", layout_name(layout));
  out.set("PROFILE", profile_name(profile));
  if (!needs_tiles() && !grouped) return out.set("SCALES_APART", scales_apart);
  out.set("DIRECTION", !columnwise ? "rowwise" : rowwise ? "both" : "columnwise");
  return out.set("BLOCK_ROWS", square_blocks ? 32 : 1).set("GROUPED", grouped);
}

Result<PreparedQuantizeMx> PreparedQuantizeMx::prepare(Runtime& runtime,
                                                       const std::shared_ptr<Device>& device,
                                                       const Request& request) {
  PreparedQuantizeMx prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_,
              preload_for(runtime, device, request.needs_tiles() ? "quantize_mx_tiles" : kName,
                          request.bindings(false)));
  return prepared;
}

Result<void> PreparedQuantizeMx::run(const Tensor& x, const QuantizedTensor& out,
                                     Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_CHECK(check_mx_output(x, out));
  if (x.rows() == 0 || x.cols() == 0) return {};
  Request wanted = Request::of(x, out, request_.mode, false);
  wanted.whole_blocks = request_.whole_blocks;  // the launch checks what x must be for it
  wanted.cols = request_.cols;
  if (request_.needs_tiles()) wanted.scales_apart = request_.scales_apart;
  if (wanted.in == request_.in && wanted != request_) {
    return Error{ErrorCode::not_supported,
                 "quantize_mx: out has another format, block, layout, profile or other directions "
                 "than this op was prepared for",
                 "prepare another op for this output"};
  }
  const auto codes = [](const QuantizedSide& side) {
    return KernelArgument::tensor(DType::u8, side.data);
  };
  const auto scales = [](const QuantizedSide& side, std::int64_t stride) {
    return KernelArgument::tensor(DType::e8m0, side.scale, stride);
  };
  const KernelArgument across = scales(out.rowwise, out.rowwise.scale_stride);
  const RequestedRows requested = requested_blocks("x", x, request_.whole_blocks, request_.cols);
  if (!request_.needs_tiles()) {
    const KernelArgument arguments[] = {tensor_argument(x), codes(out.rowwise), across,
                                        rows_argument(x), cols_argument(x)};
    return launch_op(kName, *kernel_, arguments, stream, requested);
  }
  const std::int64_t pitch = is_four_bit(out.format) ? out.columnwise.scale_stride : 0;
  const KernelArgument arguments[] = {tensor_argument(x),
                                      codes(out.rowwise),
                                      across,
                                      codes(out.columnwise),
                                      scales(out.columnwise, out.columnwise.scale_stride - pitch),
                                      KernelArgument::tensor(DType::u8, nullptr),
                                      rows_argument(x),
                                      cols_argument(x),
                                      KernelArgument::size(0),
                                      KernelArgument::size(pitch)};
  return launch_op(kName, *kernel_, arguments, stream, requested);
}

Result<void> quantize_mx(Runtime& runtime, const Tensor& x, const QuantizedTensor& out,
                         const QuantizeMxOptions& options, Stream stream) {
  // What has no elements has no directions to prepare for.
  if (x.rows() == 0 || x.cols() == 0) return check_mx_output(x, out);
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = PreparedQuantizeMx::Request::of(x, out, options.mode, false);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedQuantizeMx>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

}  // namespace diecast
