// Shapes and sides of quantized matrices; see shapes.h.
#include <diecast/base/text.h>
#include <diecast/c/ops/shapes.h>

namespace diecast::c {
namespace {

std::int64_t align_up(std::int64_t a, std::int64_t b) { return capped_product(ceil_div(a, b), b); }

}  // namespace

std::int64_t row_bytes(Format format, std::int64_t cols) {
  return is_four_bit(format) ? align_up(cols, block_of(format)) / 2 : cols;
}

DType code_type(Format format) {
  if (is_four_bit(format)) return DType::u8;
  return format == Format::mxfp8_e4m3 ? DType::e4m3 : DType::e5m2;
}

Shape with_last(const Shape& shape, std::int64_t last) {
  if (shape.rank == 0) return Shape{last};
  Shape out = shape;
  out.dims[static_cast<std::size_t>(out.rank - 1)] = last;
  return out;
}

Result<Shape> scale_shape(const QuantizedType& type, const Shape& shape, std::int64_t rows,
                          std::int64_t cols) {
  const std::int64_t blocks = ceil_div(cols, type.block());
  if (type.layout == ScaleLayout::linear) return with_last(shape, blocks);
  DIECAST_CHECK(quantized_scale_bytes(type.layout, rows, cols, type.block()));
  return Shape{align_up(rows, scale_tile_rows(type.layout)),
               align_up(blocks, scale_tile_cols(type.layout))};
}

Result<void> add_side(Outputs& out, const QuantizedType& type, const Shape& shape, bool columnwise,
                      bool found_amax) {
  const bool nvfp4 = type.format == Format::nvfp4;
  const DType scales = nvfp4 ? DType::e4m3 : DType::e8m0;
  DIECAST_CHECK(quantized_data_bytes(type.format, shape.rows(), shape.cols(), type.block()));
  if (!columnwise) {
    out.add("out_data", code_type(type.format),
            with_last(shape, row_bytes(type.format, shape.cols())));
    DIECAST_TRY(const Shape scale, scale_shape(type, shape, shape.rows(), shape.cols()));
    out.add("out_scale", scales, scale);
    if (found_amax) out.add("out_amax", DType::f32, Shape{type.row_scaled ? shape.rows() : 1});
    return {};
  }
  const Shape transposed{shape.cols(), shape.rows()};
  if (is_four_bit(type.format)) {
    out.add("out_data_t", code_type(type.format),
            with_last(transposed, row_bytes(type.format, shape.rows())));
  } else {  // in the matrix's own order, as are its linear scales
    out.add("out_data_t", code_type(type.format), Shape{shape.rows(), shape.cols()});
  }
  if (!is_four_bit(type.format) && type.layout == ScaleLayout::linear) {
    out.add("out_scale_t", scales, Shape{ceil_div(shape.rows(), type.block()), shape.cols()});
  } else {
    DIECAST_TRY(const Shape scale, scale_shape(type, transposed, shape.cols(), shape.rows()));
    out.add("out_scale_t", scales, scale);
  }
  if (found_amax) out.add("out_amax_t", DType::f32, Shape{type.row_scaled ? shape.cols() : 1});
  return {};
}

Result<void> check_row_bytes(const diecast_tensor& tensor, std::int64_t bytes,
                             const TensorName& name) {
  if (tensor.ndim < 2 || elements_of(tensor) == 0) return {};
  const std::int64_t bits = std::int64_t{tensor.type_bits} * tensor.type_lanes;
  const std::int64_t row = capped_product(tensor.shape[tensor.ndim - 1], bits) / 8;
  if (row == bytes) return {};
  return Error{
      ErrorCode::shape_mismatch,
      cat(name.text(), " is ", shape_of(tensor).text(), ": rows of ", row, " bytes, not ", bytes),
      cat("pass rows of ", bytes, " bytes")};
}

Result<void> check_length(std::int64_t given, std::int64_t of_out, const TensorName& name) {
  if (given == 0 || given == of_out) return {};
  return Error{ErrorCode::shape_mismatch, cat(name.text(), " = ", given, ", and out has ", of_out),
               cat("leave ", name.tensor, " out: out says its own")};
}

Result<void> read_side(QuantizedTensor& of, bool columnwise, const diecast_tensor* data,
                       const diecast_tensor* scale, std::string_view op, std::string_view data_name,
                       std::string_view scale_name, bool padded) {
  if (data == nullptr && scale == nullptr) return {};
  const TensorName of_data{op, data_name}, of_scale{op, scale_name};
  const Format format = of.type.format;
  const bool linear = of.type.layout == ScaleLayout::linear;
  DIECAST_TRY(const DenseBytes codes, bytes_of(data, of_data));
  DIECAST_TRY(const ScaleBytes scales, scales_of(scale, of.type.layout, of_scale));
  const bool in_order = columnwise && !is_four_bit(format);  // the matrix's own
  const std::int64_t length = columnwise && !in_order ? of.rows() : of.cols();
  DIECAST_CHECK(check_row_bytes(*data, row_bytes(format, length), of_data));
  if (linear && !padded)
    DIECAST_CHECK(
        check_row_bytes(*scale, in_order ? length : ceil_div(length, of.type.block()), of_scale));
  QuantizedSide& side = columnwise ? of.columnwise : of.rowwise;
  side.data = codes.data;
  side.data_bytes = codes.count;
  side.scale = scales.data;
  side.scale_bytes = scales.count;
  side.scale_stride = scales.stride;
  return {};
}

Result<Shape> unquantized_shape(const diecast_tensor& data, Format format, bool columnwise,
                                std::int64_t rows, std::int64_t cols, std::string_view op) {
  const Shape codes = shape_of(data);
  const bool packed = is_four_bit(format);
  const std::int64_t most = packed ? packed_codes(data) : codes.cols();
  const std::int64_t last = columnwise && packed ? rows : cols;
  if (last < 0 || last > most) {
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": data has ", most, " codes a row, ", last, " are asked for"),
                 cat("ask for ", most, " or fewer, or for 0: all of them")};
  }
  const std::int64_t length = last == 0 ? most : last;
  if (!columnwise || !packed) return with_last(codes, length);
  return Shape{length, codes.rows()};
}

}  // namespace diecast::c
