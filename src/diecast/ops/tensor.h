// A view of a dense or row-strided tensor in device memory; owns nothing.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <diecast/base/error.h>
#include <diecast/template/value.h>

namespace diecast {

inline constexpr int kMaxRank = 8;

// Dimensions, outermost first. Leading dimensions flatten to rows; the last one is the columns.
struct Shape {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> dims{};

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dimensions);
  std::int64_t rows() const;      // product of all but the last; 1 for rank 0 and 1
  std::int64_t cols() const;      // the last; 1 for rank 0
  std::string text() const;       // "[3, 128, 64]"
  bool operator==(const Shape&) const = default;
  // Errors: shape_mismatch for a rank above kMaxRank, a negative dimension, or more elements than
  // fit in 63 bits.
  Result<std::int64_t> elements() const;
};

struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t row_stride = 0;  // elements from one row to the next; 0 = dense (cols)

  std::int64_t rows() const { return shape.rows(); }
  std::int64_t cols() const { return shape.cols(); }
  std::int64_t stride() const { return row_stride == 0 ? cols() : row_stride; }
  // Errors: missing_buffer, shape_mismatch (stride smaller than a row, products beyond 63 bits).
  // `name` is what the message calls it.
  Result<void> check(std::string_view name) const;
};

}  // namespace diecast
