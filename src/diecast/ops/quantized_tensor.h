// A block-quantized matrix: packed codes, block scales, amax, and the same of its transpose; views,
// no memory of their own. Every op takes or fills this type, and one check() serves them all.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/quantized_type.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <string_view>

namespace diecast {

// One direction of a quantized matrix of R rows and C columns with 1xB blocks along the columns.
// Alignment in bytes: codes of NVFP4 8, of MX 16 (FP8 whose rows are not whole blocks: none); tiled
// scales that quantize_nvfp4 writes 16, other scales none; amaxes 4.
struct QuantizedSide {
  void* data = nullptr;         // u8 [R, align_up(C, B) / 2] for 4-bit formats, else [R, C]
  void* scale = nullptr;        // one byte a block: E4M3 (nvfp4) or E8M0 (mx)
  float* amax = nullptr;        // nvfp4: f32 [1], or [R] when row-scaled; null for mx
  std::int64_t data_bytes = 0;  // sizes of the caller's buffers
  std::int64_t scale_bytes = 0;
  std::int64_t amax_count = 0;
  std::int64_t scale_stride = 0;  // linear: bytes from one row's scales to the next; 0 = dense

  bool present() const { return data != nullptr || scale != nullptr; }
};

struct QuantizedTensor {
  QuantizedType type{};
  Shape shape;  // of the unquantized tensor; leading dimensions flatten to rows
  QuantizedSide rowwise{};
  // Of the transposed matrix, [cols, rows]. But MXFP8's data stays in this matrix's own order,
  // [rows, cols], and so do its linear scales, [ceil_div(rows, 32), cols]; its tiled scales are
  // those of the transpose.
  QuantizedSide columnwise{};

  std::int64_t rows() const { return shape.rows(); }
  std::int64_t cols() const { return shape.cols(); }
  const QuantizedSide& side(bool of_columns) const { return of_columns ? columnwise : rowwise; }
  // Whether a direction is wanted. Of a matrix without elements an amax alone says so.
  bool has(bool of_columns) const {
    const QuantizedSide& own = side(of_columns);
    return own.present() || (own.amax != nullptr && (rows() == 0 || cols() == 0));
  }
  // The directions that are wanted; rowwise where none is.
  Sides sides() const {
    if (!has(true)) return Sides::rowwise;
    return has(false) ? Sides::both : Sides::columnwise;
  }

  // The smallest buffers that each direction needs: sizes with null pointers. Errors: those of
  // QuantizedType::check; shape_mismatch (sizes beyond 63 bits).
  Result<QuantizedSide> rowwise_sizes() const;
  Result<QuantizedSide> columnwise_sizes() const;

  // Everything an op relies on: the sizes above can be computed; at least one direction is present
  // (unless there is nothing to hold); every present one has all its buffers, no smaller than that,
  // and an amax count of exactly that. `op` and `operand` name it in the message. Further errors:
  // missing_buffer, shape_mismatch.
  Result<void> check(std::string_view op, std::string_view operand) const {
    if (is_plain()) return {};
    return check_any(op, operand);
  }
  // The same for operand x of an op that turns one direction back into `out`. Further errors:
  // not_supported (the other direction alone is there), shape_mismatch (out's shape).
  Result<void> check_read(std::string_view op, bool of_columns, const Tensor& out) const;
  // The part of check() about buffers, with sizes that are not the tensor's own: a group's.
  Result<void> check_buffers(const QuantizedSide& rowwise_need,
                             const QuantizedSide& columnwise_need) const;
  // For ops that cannot take one: not_supported by name when row_scaled is set.
  Result<void> refuse_row_scaled(std::string_view op, std::string_view operand) const;

 private:
  bool is_plain() const;  // whether check_any() certainly has nothing to say; plain_tensor.cpp
  Result<void> check_any(std::string_view op, std::string_view operand) const;
};

// Buffer sizes in bytes of one direction with R rows and C columns in blocks of `block` columns.
// Errors: invalid_argument (a negative size, a block below 1 or odd), shape_mismatch (beyond 63
// bits).
Result<std::int64_t> quantized_data_bytes(Format format, std::int64_t rows, std::int64_t cols,
                                          int block);
Result<std::int64_t> quantized_scale_bytes(ScaleLayout layout, std::int64_t rows, std::int64_t cols,
                                           int block);
// Bytes from the first to the last of `side`'s scales, [rows, cols] of them: `dense`, or more where
// its scale_stride keeps rows apart. Errors: not_supported (a stride of tiles), shape_mismatch (a
// stride shorter than a row, a span beyond 63 bits).
Result<std::int64_t> scale_span_bytes(const QuantizedTensor& tensor, const QuantizedSide& side,
                                      std::int64_t rows, std::int64_t cols, std::int64_t dense);
// Byte of the scale of (row, block) in a layout, for `blocks` scale columns. The padding of the
// tiled layouts holds zeros.
std::int64_t scale_offset(ScaleLayout layout, std::int64_t row, std::int64_t block,
                          std::int64_t blocks);

}  // namespace diecast
