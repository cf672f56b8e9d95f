// Shapes of quantized matrices as the C interface gives and takes them.
#pragma once

#include <diecast/base/error.h>
#include <diecast/c/op.h>
#include <diecast/ops/quantized_tensor.h>

#include <cstdint>

namespace diecast::c {

// The element type of codes: of packed ones bytes.
DType code_type(Format format);
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
// The shape of what codes of a matrix came from: [.., cols], or where they are the columnwise side
// [rows, cols]. Numbers of 0 stand for whole blocks.
Result<Shape> unquantized_shape(const diecast_tensor& data, Format format, bool columnwise,
                                std::int64_t rows, std::int64_t cols, std::string_view op);

}  // namespace diecast::c
