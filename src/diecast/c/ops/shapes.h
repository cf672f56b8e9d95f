// Shapes of quantized matrices as the C interface gives and takes them.
#pragma once

#include <diecast/base/error.h>
#include <diecast/c/op.h>
#include <diecast/ops/quantized_tensor.h>

#include <cstdint>

namespace diecast::c {

// The element type of codes: of packed ones bytes.
DType code_type(Format format);
// Bytes of a row of codes.
std::int64_t row_bytes(Format format, std::int64_t cols);
// `shape` with another last dimension.
Shape with_last(const Shape& shape, std::int64_t last);
// Scales of [rows, cols]: rows of a linear layout keep the leading dimensions of `shape`.
Result<Shape> scale_shape(const QuantizedType& type, const Shape& shape, std::int64_t rows,
                          std::int64_t cols);
// Adds one direction of a matrix of `shape` to the outputs of an op, with an amax that it finds.
Result<void> add_side(Outputs& out, const QuantizedType& type, const Shape& shape, bool columnwise,
                      bool found_amax);

// That a tensor of two dimensions or more has rows of so many bytes. Errors: shape_mismatch: of
// others, elements would be read and written at wrong places.
Result<void> check_row_bytes(const diecast_tensor& tensor, std::int64_t bytes,
                             const TensorName& name);
// Puts codes and scales of one direction into `of`, whose type and shape are known. Null data: the
// direction is absent. Errors: missing_buffer (a part), those of bytes_of(), scales_of() and
// check_row_bytes(); with `padded` linear scales may have longer rows.
Result<void> read_side(QuantizedTensor& of, bool columnwise, const diecast_tensor* data,
                       const diecast_tensor* scale, std::string_view op, std::string_view data_name,
                       std::string_view scale_name, bool padded = false);
// The same for both directions of an op's output, whose type is known.
template <class Tensors>
Result<void> read_output(QuantizedTensor& out, const Tensors& t, std::string_view op) {
  DIECAST_CHECK(read_side(out, false, t.out_data, t.out_scale, op, "out_data", "out_scale"));
  return read_side(out, true, t.out_data_t, t.out_scale_t, op, "out_data_t", "out_scale_t");
}
// That a size among the options is out's, where it is given (not 0). Errors: shape_mismatch.
Result<void> check_length(std::int64_t given, std::int64_t of_out, const TensorName& name);
// The same for the direction that an op turns back into `v.out`. v.x.type is known.
template <class Views, class Tensors, class Options>
Result<void> read_source(Views& v, const Tensors& t, const Options& o, std::string_view op) {
  v.x.shape = v.out.shape;
  v.options.columnwise = o.columnwise != 0;
  if (v.options.columnwise && is_four_bit(v.x.type.format))
    DIECAST_CHECK(check_length(o.rows, v.out.rows(), {op, "rows"}));
  else
    DIECAST_CHECK(check_length(o.cols, v.out.cols(), {op, "cols"}));
  return read_side(v.x, v.options.columnwise, t.data, t.scale, op, "data", "scale");
}
// The shape of what codes of a matrix came from: [.., cols], or where they are the columnwise side
// [rows, cols]. Numbers of 0 stand for whole blocks.
Result<Shape> unquantized_shape(const diecast_tensor& data, Format format, bool columnwise,
                                std::int64_t rows, std::int64_t cols, std::string_view op);

}  // namespace diecast::c
