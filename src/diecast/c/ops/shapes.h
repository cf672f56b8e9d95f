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

// Puts codes and scales of one direction into `side`. Null data: the direction is absent. Errors:
// missing_buffer (a part), those of bytes_of() and scales_of().
Result<void> read_side(QuantizedSide& side, const diecast_tensor* data, const diecast_tensor* scale,
                       ScaleLayout layout, std::string_view op, std::string_view data_name,
                       std::string_view scale_name);
// The same for both directions of an op's output, whose type is known.
template <class Tensors>
Result<void> read_output(QuantizedTensor& out, const Tensors& t, std::string_view op) {
  const ScaleLayout layout = out.type.layout;
  DIECAST_CHECK(
      read_side(out.rowwise, t.out_data, t.out_scale, layout, op, "out_data", "out_scale"));
  return read_side(out.columnwise, t.out_data_t, t.out_scale_t, layout, op, "out_data_t",
                   "out_scale_t");
}
// The same for the direction that an op turns back into `v.out`. v.x.type is known.
template <class Views, class Tensors>
Result<void> read_source(Views& v, const Tensors& t, bool columnwise, std::string_view op) {
  v.x.shape = v.out.shape;
  v.options.columnwise = columnwise;
  return read_side(columnwise ? v.x.columnwise : v.x.rowwise, t.data, t.scale, v.x.type.layout, op,
                   "data", "scale");
}
// The shape of what codes of a matrix came from: [.., cols], or where they are the columnwise side
// [rows, cols]. Numbers of 0 stand for whole blocks.
Result<Shape> unquantized_shape(const diecast_tensor& data, Format format, bool columnwise,
                                std::int64_t rows, std::int64_t cols, std::string_view op);

}  // namespace diecast::c
