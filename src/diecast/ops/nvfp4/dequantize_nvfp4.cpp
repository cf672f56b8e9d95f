// dequantize_nvfp4 and fp4_dequantize: one launch.
#include <diecast/base/text.h>
#include <diecast/kernel_arguments.h>
#include <diecast/ops/nvfp4/dequantize_nvfp4.h>

#include <bit>

namespace diecast {
namespace {

// The rows that blocks of this size and codes of this pitch leave of out's class.
RowsClass rows_for(const Tensor& out, int block, const Tensor& packed) {
  const bool whole = block > 0 && out.cols() % block == 0 && packed.stride() == out.cols() / 2 &&
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
Result<void> check_parts(const DequantizeNvfp4Request& request, const Tensor& packed,
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

using Codes = args::TensorOf<DType::u8>;
using Scales = args::TensorOf<DType::e4m3>;

// A tensor whose element type is checked.
template <class Argument>
Argument part(const Tensor& tensor) {
  return {tensor.data, stride_number(tensor)};
}

// Both kernels take the same.
template <class Arguments>
Arguments arguments_of(const Codes& codes, const Scales& scales, const float* factor,
                       const Tensor& out) {
  return {.codes = codes,
          .scales = scales,
          .amax = factor,
          .out = tensor_argument(out),
          .rows = rows_argument(out),
          .cols = out.cols()};
}

}  // namespace

Result<void> check_dequantize_nvfp4(const QuantizedTensor& x, const Tensor& out, bool columnwise) {
  constexpr std::string_view kOp = PreparedDequantizeNvfp4::kName;
  DIECAST_CHECK(out.check("dequantize_nvfp4: out"));
  if (x.type.format != Format::nvfp4) {
    return Error{ErrorCode::not_supported, cat(kOp, ": x is ", word(x.type.format)),
                 "this op reads nvfp4; dequantize_mx reads the mx formats"};
  }
  return x.check_read(kOp, columnwise, out);
}

Result<void> check_fp4_dequantize(const Tensor& packed, const Tensor& scale,
                                  const float* global_scale, const Tensor& out,
                                  const Fp4DequantizeOptions& options) {
  DIECAST_CHECK(check_fp4_options(options));
  const auto request = DequantizeNvfp4Request::of(packed, scale, out, options);
  return check_parts(request, packed, scale, global_scale, out);
}

DequantizeNvfp4Request DequantizeNvfp4Request::of(const QuantizedTensor& x, const Tensor& out,
                                                  const DequantizeNvfp4Options& options) {
  DequantizeNvfp4Request request{
      .out = out.dtype,
      .form = options.form,
      .layout = x.type.layout,
      .row_scaled = x.type.row_scaled,
      .columnwise = options.columnwise || (!x.rowwise.present() && x.columnwise.present())};
  request.scales_apart = x.side(request.columnwise).scale_stride != 0;
  if (options.form == GlobalForm::amax) request.e4m3_bound = x.type.e4m3_bound;
  request.rows = request.columnwise ? RowsClass::any : rows_class(out);
  return request;
}

DequantizeNvfp4Request DequantizeNvfp4Request::of(const Tensor& packed, const Tensor& scale,
                                                  const Tensor& out,
                                                  const Fp4DequantizeOptions& options) {
  return {.out = out.dtype,
          .form = GlobalForm::decode,
          .scales_apart = scale.rows() > 1 && scale.stride() != scale.cols(),
          .block = options.block_size,
          .threads = options.tile_size < 256 ? 128 : 256,
          .rows = rows_for(out, options.block_size, packed)};
}

KernelWanted DequantizeNvfp4Request::kernel(const DeviceProperties&) const {
  Bindings bindings;
  if (threads != 0) bindings.set("THREADS", threads);
  return kernel_of(columnwise ? "dequantize_nvfp4_columns" : kName, *this, std::move(bindings));
}

Result<void> PreparedDequantizeNvfp4::run(const Tensor& packed, const Tensor& scale,
                                          const float* factor, const Tensor& out,
                                          Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_parts(request_, packed, scale, factor, out));
  return read(part<Codes>(packed), part<Scales>(scale), factor, out, stream);
}

Result<void> PreparedDequantizeNvfp4::read(const Codes& codes, const Scales& scales,
                                           const float* factor, const Tensor& out,
                                           Stream stream) const {
  const RequestedRows requested{"out", &out, request_.rows, request_.cols};
  if (request_.columnwise) {
    return launch(arguments_of<args::DequantizeNvfp4Columns>(codes, scales, factor, out), stream,
                  requested);
  }
  return launch(arguments_of<args::DequantizeNvfp4>(codes, scales, factor, out), stream, requested);
}

Result<void> PreparedDequantizeNvfp4::run(const QuantizedTensor& x, const Tensor& out,
                                          Stream stream) const {
  DIECAST_CHECK(check_prepared());
  DIECAST_CHECK(check_dequantize_nvfp4(x, out, request_.columnwise));
  Request asked = request_;
  asked.layout = x.type.layout;
  asked.row_scaled = x.type.row_scaled;
  if (request_.form == GlobalForm::amax) asked.e4m3_bound = x.type.e4m3_bound;
  if (!request_.columnwise) asked.block = x.type.block();
  if (asked != request_) return not_as_prepared(kName, "x", request_, asked);
  const QuantizedSide& side = x.side(request_.columnwise);
  if (out.rows() * out.cols() == 0) return {};
  const bool apart = !request_.columnwise && request_.rows == RowsClass::any;
  const std::int64_t pitch = (x.cols() + 15) / 16 * 8;  // bytes of a row of codes
  return read({side.data, apart ? pitch : 0}, {side.scale, side.scale_stride}, side.amax, out,
              stream);
}

Result<void> dequantize_nvfp4(Runtime& runtime, const QuantizedTensor& x, const Tensor& out,
                              const DequantizeNvfp4Options& options, Stream stream) {
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = DequantizeNvfp4Request::of(x, out, options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedDequantizeNvfp4>(runtime, device, request, stream));
  return prepared->run(x, out, stream);
}

Result<void> fp4_dequantize(Runtime& runtime, const Tensor& packed, const Tensor& scale,
                            const float* global_scale, const Tensor& out,
                            const Fp4DequantizeOptions& options, Stream stream) {
  DIECAST_CHECK(check_fp4_dequantize(packed, scale, global_scale, out, options));
  DIECAST_TRY(const auto device, device_or_default(runtime, options.device));
  const auto request = DequantizeNvfp4Request::of(packed, scale, out, options);
  DIECAST_TRY(const auto prepared,
              prepared_once<PreparedDequantizeNvfp4>(runtime, device, request, stream));
  return prepared->read(part<Codes>(packed), part<Scales>(scale), global_scale, out, stream);
}

}  // namespace diecast
