// dequantize_nvfp4 and fp4_dequantize: one launch.
#include <diecast/base/text.h>
#include <diecast/ops/dequantize_nvfp4.h>

#include <bit>

namespace diecast {
namespace {

Result<void> check_nvfp4_input(const QuantizedTensor& x, const Tensor& out, bool columnwise) {
  constexpr std::string_view kOp = PreparedDequantizeNvfp4::kName;
  if (x.format != Format::nvfp4) {
    return Error{ErrorCode::not_supported, cat(kOp, ": x is ", format_name(x.format)),
                 "this op reads nvfp4; dequantize_mx reads the mx formats"};
  }
  return x.check_read(kOp, columnwise, out);
}

// The rows that blocks of this size and codes of this pitch leave of out's class.
RowsClass rows_for(const Tensor& out, int block, const Tensor& packed) {
  const bool whole = out.cols() % block == 0 && packed.stride() == out.cols() / 2 &&
                     reinterpret_cast<std::uintptr_t>(packed.data) % 8 == 0;
  return whole ? rows_class(out) : RowsClass::any;
}

Error wrong_shape(std::string_view name, const Tensor& tensor, std::int64_t rows,
                  std::int64_t cols) {
  return {
      ErrorCode::shape_mismatch,
      cat("fp4_dequantize: ", name, " is ", tensor.shape.text(), ", not [", rows, ", ", cols, "]"),
      cat("pass ", name, " with ", rows, " rows of ", cols)};
}

Result<void> check_fp4_options(const Fp4DequantizeOptions& options) {
  if (options.block_size < 8 || options.block_size > 128 ||
      !std::has_single_bit(static_cast<unsigned>(options.block_size))) {
    return Error{ErrorCode::value_not_allowed,
                 cat("fp4_dequantize: block_size = ", options.block_size),
                 "block_size = 8, 16, 32, 64 or 128"};
  }
  if (options.tile_size < 64 || options.tile_size > 1024) {
    return Error{ErrorCode::value_not_allowed,
                 cat("fp4_dequantize: tile_size = ", options.tile_size), "tile_size = 64 to 1024"};
  }
  return {};
}

// In whole tiles; at most 2^63 - 1.
std::int64_t padded_to_tiles(std::int64_t count, int tile) {
  return capped_product(ceil_div(count, tile), tile);
}

// Codes and scales of out, or of its transpose, as the request has them read.
Result<void> check_parts(const PreparedDequantizeNvfp4::Request& request, const Tensor& packed,
                         const Tensor& scale, const float* factor, const Tensor& out) {
  if (packed.dtype != DType::u8 || scale.dtype != DType::e4m3) {
    return Error{ErrorCode::dtype_mismatch,
                 cat("fp4_dequantize: packed is ", dtype_name(packed.dtype), ", scale ",
                     dtype_name(scale.dtype)),
                 "packed is u8, scale e4m3"};
  }
  DIECAST_CHECK(packed.check("fp4_dequantize: packed"));
  DIECAST_CHECK(scale.check("fp4_dequantize: scale"));
  DIECAST_CHECK(out.check("fp4_dequantize: out"));
  const bool down = request.columnwise;
  const std::int64_t rows = down ? out.cols() : out.rows(), cols = down ? out.rows() : out.cols();
  const std::int64_t bytes = down ? ceil_div(cols, 16) * 8 : ceil_div(cols, 2);
  if (packed.rows() != rows || packed.cols() != bytes) {
    return wrong_shape("packed", packed, rows, bytes);
  }
  const std::int64_t scale_rows = padded_to_tiles(rows, scale_tile_rows(request.layout));
  const std::int64_t blocks =
      padded_to_tiles(ceil_div(cols, down ? 16 : request.block), scale_tile_cols(request.layout));
  if (scale.rows() != scale_rows || scale.cols() != blocks) {
    return wrong_shape("scale", scale, scale_rows, blocks);
  }
  const std::int64_t factors = request.row_scaled ? rows : 1;
  if (factor != nullptr || factors == 0) return {};
  return Error{ErrorCode::missing_buffer, "fp4_dequantize: global_scale is null",
               cat("pass device memory for f32 [", factors, "]")};
}

}  // namespace

std::uint64_t PreparedDequantizeNvfp4::Request::word() const {
  return request_word(OpKind::dequantize_nvfp4)
      .add<4>(out)
      .add<1>(row_scaled)
      .add<1>(form)
      .add<2>(rows)
      .add<2>(layout)
      .add<1>(e4m3_bound == 256)
      .add<8>(block)
      .add<1>(scales_apart)
      .add<1>(columnwise)
      .add<9>(threads)
      .add<26>(cols)
      .word();
}

PreparedDequantizeNvfp4::Request PreparedDequantizeNvfp4::Request::of(
    const QuantizedTensor& x, const Tensor& out, const DequantizeNvfp4Options& options) {
  Request request{out.dtype, x.row_scaled, options.form};
  request.columnwise = options.columnwise || (!x.rowwise.present() && x.columnwise.present());
  request.rows = request.columnwise ? RowsClass::any : rows_class(out);
  request.layout = x.layout;
  request.e4m3_bound = x.e4m3_bound;
  request.scales_apart = x.side(request.columnwise).scale_stride != 0;
  return request;
}

Result<PreparedDequantizeNvfp4> PreparedDequantizeNvfp4::prepare(
    Runtime& runtime, const std::shared_ptr<Device>& device, const Request& request) {
  Bindings bindings;
  bindings.set("COLS", request.cols).set("SCALES_APART", request.scales_apart);
  bindings.set("OUT", request.out).set("LAYOUT", layout_name(request.layout));
  bindings.set("ROW_SCALE", request.row_scaled);
  if (!request.columnwise) {
    bindings.set("ROWS", rows_class_name(request.rows)).set("BLOCK", request.block);
  }
  bindings.set("GLOBAL", request.form == GlobalForm::amax ? "amax" : "decode");
  // A decode scale has no bound left in it.
  bindings.set("BOUND", request.form == GlobalForm::amax ? request.e4m3_bound : 448);
  if (request.threads != 0) bindings.set("THREADS", request.threads);
  PreparedDequantizeNvfp4 prepared;
  prepared.request_ = request;
  DIECAST_TRY(prepared.kernel_,
              preload_for(runtime, device, request.columnwise ? "dequantize_nvfp4_columns" : kName,
                          bindings));
  return prepared;
}

Result<void> PreparedDequantizeNvfp4::run(const Tensor& packed, const Tensor& scale,
                                          const float* factor, const Tensor& out,
                                          Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_CHECK(check_parts(request_, packed, scale, factor, out));
  return launch(packed, scale, factor, out, stream);
}

Result<void> PreparedDequantizeNvfp4::launch(const Tensor& packed, const Tensor& scale,
                                             const float* factor, const Tensor& out,
                                             Stream stream) const {
  const KernelArgument arguments[] = {
      tensor_argument(packed), tensor_argument(scale), KernelArgument::tensor(DType::f32, factor),
      tensor_argument(out),    rows_argument(out),     cols_argument(out)};
  return launch_op(kName, *kernel_, arguments, stream, {"out", &out, request_.rows, request_.cols});
}

Result<void> PreparedDequantizeNvfp4::run(const QuantizedTensor& x, const Tensor& out,
                                          Stream stream) const {
  DIECAST_CHECK(check_prepared(kernel_.get(), kName));
  DIECAST_CHECK(out.check("dequantize_nvfp4: out"));
  DIECAST_CHECK(check_nvfp4_input(x, out, request_.columnwise));
  if (x.row_scaled != request_.row_scaled || x.layout != request_.layout ||
      x.e4m3_bound != request_.e4m3_bound) {
    return Error{ErrorCode::not_supported,
                 cat("dequantize_nvfp4: prepared for row_scaled = ", request_.row_scaled, ", ",
                     layout_name(request_.layout), " scales, E4M3 bound ", request_.e4m3_bound,
                     "; x has row_scaled = ", x.row_scaled, ", ", layout_name(x.layout),
                     " scales, E4M3 bound ", x.e4m3_bound),
                 "prepare another op for this input"};
  }
  if (!request_.columnwise && x.block_cols != request_.block) {
    return Error{ErrorCode::not_supported,
                 cat("dequantize_nvfp4: prepared for blocks of ", request_.block,
                     ", x has blocks of ", x.block_cols),
                 cat("prepare with block = ", x.block_cols)};
  }
  const QuantizedSide& side = x.side(request_.columnwise);
  if (out.rows() * out.cols() == 0) return {};
  const bool apart = !request_.columnwise && request_.rows == RowsClass::any;
  const std::int64_t pitch = (x.cols() + 15) / 16 * 8;  // bytes of a row of codes
  const KernelArgument arguments[] = {
      KernelArgument::tensor(DType::u8, side.data, apart ? pitch : 0),
      KernelArgument::tensor(DType::e4m3, side.scale, side.scale_stride),
      KernelArgument::tensor(DType::f32, side.amax),
      tensor_argument(out),
      rows_argument(out),
      cols_argument(out)};
  return launch_op(kName, *kernel_, arguments, stream, {"out", &out, request_.rows, request_.cols});
}

Result<void> dequantize_nvfp4(Runtime& runtime, const QuantizedTensor& x, const Tensor& out,
                              const DequantizeNvfp4Options& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = PreparedDequantizeNvfp4::Request::of(x, out, options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedDequantizeNvfp4>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

Result<void> fp4_dequantize(Runtime& runtime, const Tensor& packed, const Tensor& scale,
                            const float* global_scale, const Tensor& out,
                            const Fp4DequantizeOptions& options, Stream stream) {
  DIECAST_CHECK(check_fp4_options(options));
  PreparedDequantizeNvfp4::Request request{out.dtype, false, GlobalForm::decode};
  request.block = options.block_size;
  DIECAST_CHECK(check_parts(request, packed, scale, global_scale, out));
  request.rows = rows_for(out, options.block_size, packed);
  request.scales_apart = scale.rows() > 1 && scale.stride() != scale.cols();
  request.threads = options.tile_size < 256 ? 128 : 256;
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedDequantizeNvfp4>(runtime, device, request, stream));
  return prepared->launch(packed, scale, global_scale, out, stream);
}

}  // namespace diecast
