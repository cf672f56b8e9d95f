// A view of a dense or row-strided tensor; owns nothing. The function that takes the view says
// whether its address is device or host memory: ops want the memory of the device that they run on.
// No buffer that a call writes may overlap another of its buffers, unless the function says so.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/value.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace diecast {

inline constexpr int kMaxRank = 8;
// Two sizes below this can be multiplied, and the bytes counted, without an overflow.
inline constexpr std::uint64_t kPlainSize = std::uint64_t{1} << 29;

// a * b for factors of 0 or more, or none when the product does not fit in 63 bits.
inline std::optional<std::int64_t> checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// a / b, rounded up, for a of 0 or more; does not overflow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// The same, or 2^63 - 1 when it does not fit: more than any buffer has.
inline std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  return checked_product(a, b).value_or(std::numeric_limits<std::int64_t>::max());
}

// Dimensions, outermost first. Leading dimensions flatten to rows; the last one is the columns.
struct Shape {
  int rank = 0;  // kMaxRank + 1 stands for anything above kMaxRank: elements() then says so
  std::array<std::int64_t, kMaxRank> dims{};

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dimensions);
  explicit Shape(std::span<const std::int64_t> dimensions);

  // Product of all but the last, at most 2^63 - 1; 1 for rank 0 and 1.
  std::int64_t rows() const { return rank == 2 ? dims[0] : leading(); }
  std::int64_t cols() const {  // the last; 1 for rank 0
    return rank == 0 ? 1 : dims[static_cast<std::size_t>(rank < kMaxRank ? rank : kMaxRank) - 1];
  }
  std::string text() const;  // "[3, 128, 64]"
  bool operator==(const Shape&) const = default;
  // Errors: shape_mismatch for a rank above kMaxRank, a negative dimension, or dimensions whose
  // product (zeros aside, so that rows() fits too) needs more than 63 bits.
  Result<std::int64_t> elements() const;

 private:
  std::int64_t leading() const;
};

struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t row_stride = 0;  // elements from one row to the next; 0 = dense (cols)
  // Not null: an int64 in device memory that says how many of the shape.rows() rows are real; each
  // launch reads it, the host never does. Rows beyond it are neither read nor written; only the
  // amaxes of single rows that amax and quantize_nvfp4_tiles find are written for them, as 0. A
  // number below 0 counts as 0, one above shape.rows() as shape.rows().
  const std::int64_t* device_rows = nullptr;

  std::int64_t rows() const { return shape.rows(); }
  std::int64_t cols() const { return shape.cols(); }
  std::int64_t stride() const { return row_stride == 0 ? cols() : row_stride; }
  // A tensor without elements needs no buffer. Errors: dtype_mismatch (no type), missing_buffer,
  // misaligned (to its element), shape_mismatch (stride smaller than a row, spans beyond 63 bits).
  // `name` is what the message calls it.
  Result<void> check(std::string_view name) const {
    if (is_plain_matrix()) return {};
    return check_any(name);
  }
  // For what takes every row there is. Errors: not_supported (the device counts the rows).
  Result<void> check_rows_known(std::string_view name) const;

 private:
  // Two dimensions of a size that no product of them leaves 63 bits, and an address: most tensors
  // of most launches, known in a few instructions.
  bool is_plain_matrix() const {
    const auto sizes = static_cast<std::uint64_t>(shape.dims[0] | shape.dims[1] | row_stride);
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    return shape.rank == 2 && sizes < kPlainSize && stride() >= shape.dims[1] && address != 0 &&
           (address & static_cast<std::uintptr_t>(dtype_bits(dtype) / 8 - 1)) == 0;
  }
  Result<void> check_any(std::string_view name) const;
};

// shape_mismatch: an op's x, under the name it has in messages, and its `out` of another shape.
Error shapes_differ(std::string_view op, std::string_view name, const Shape& x, const Shape& out);

}  // namespace diecast
