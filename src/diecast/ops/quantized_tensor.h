// A block-quantized matrix in device memory: packed codes, block scales, amax, and the same of its
// transpose; views, no memory of their own. Every op takes or fills this type, and one check()
// serves them all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <diecast/base/error.h>
#include <diecast/ops/tensor.h>

namespace diecast {

enum class Format : std::uint8_t { nvfp4, mxfp8_e4m3, mxfp8_e5m2, mxfp4 };
enum class ScaleLayout : std::uint8_t { linear, s128x4, s8x4 };
enum class Profile : std::uint8_t { te };

std::string_view format_name(Format format);
std::string_view layout_name(ScaleLayout layout);
std::string_view profile_name(Profile profile);

// One direction of a quantized matrix of R rows and C columns with 1xB blocks along the columns.
struct QuantizedSide {
  void* data = nullptr;          // u8 [R, align_up(C, B) / 2] for 4-bit formats, else [R, C]
  void* scale = nullptr;         // one byte a block: E4M3 (nvfp4) or E8M0 (mx)
  float* amax = nullptr;         // f32 [1], or [R] when row_scaled; null for formats without one
  std::int64_t data_bytes = 0;   // sizes of the caller's buffers
  std::int64_t scale_bytes = 0;
  std::int64_t amax_count = 0;

  bool present() const { return data != nullptr || scale != nullptr; }
};

struct QuantizedTensor {
  Format format = Format::nvfp4;
  Shape shape;                   // of the unquantized tensor; leading dimensions flatten to rows
  QuantizedSide rowwise;
  QuantizedSide columnwise;      // of the transposed matrix: [cols, rows]
  int block_rows = 1;            // 1 (1x16) or block_cols (16x16)
  int block_cols = 16;
  ScaleLayout layout = ScaleLayout::linear;
  Profile profile = Profile::te;
  int e4m3_bound = 448;          // 448 or 256
  bool row_scaled = false;       // one amax a row instead of one in all

  std::int64_t rows() const { return shape.rows(); }
  std::int64_t cols() const { return shape.cols(); }

  // Everything an op relies on: a format and block size that belong together, non-null buffers of
  // exactly the sizes below or more, amax count exactly 1 or rows as row_scaled says. `op` and
  // `operand` name it in the message. Errors: missing_buffer, shape_mismatch, not_supported.
  Result<void> check(std::string_view op, std::string_view operand) const;
  // For ops that cannot take one: not_supported by name when row_scaled is set.
  Result<void> refuse_row_scaled(std::string_view op, std::string_view operand) const;
};

// Buffer sizes in bytes of one direction with R rows and C columns; checked 64-bit arithmetic.
Result<std::int64_t> quantized_data_bytes(Format format, std::int64_t rows, std::int64_t cols, int block);
Result<std::int64_t> quantized_scale_bytes(ScaleLayout layout, std::int64_t rows, std::int64_t cols, int block);
// Byte of the scale of (row, block) in a layout, for `blocks` scale columns.
std::int64_t scale_offset(ScaleLayout layout, std::int64_t row, std::int64_t block, std::int64_t blocks);

// One member of a group as kernels read it: 64 bytes, little-endian, in an array in device memory.
// Pointers may be null where an op has no use for them.
struct alignas(16) MemberDescriptor {
  std::uint64_t input = 0;       // first element of the member's first row
  std::uint64_t data = 0;
  std::uint64_t scale = 0;
  std::uint64_t amax = 0;        // its own, or its first row's when row-scaled
  std::int64_t row_begin = 0;    // first row within the group's flattened rows
  std::int64_t rows = 0;         // 0: an empty member
  std::int64_t amax_begin = 0;   // index of its first amax in the group's amax array
  std::int64_t reserved = 0;     // zero
};
static_assert(sizeof(MemberDescriptor) == 64);

// Many quantized matrices with equal columns in one launch. Row offsets are count + 1 ascending
// numbers, on the host or in device memory (then `rows_upper_bound` bounds the last).
struct QuantizedGroup {
  QuantizedTensor common;        // format, columns, block, layout, profile; no buffers
  std::int64_t count = 0;
  MemberDescriptor* members = nullptr;         // device memory, `count` of them
  const std::int64_t* host_row_offsets = nullptr;
  const std::int64_t* device_row_offsets = nullptr;
  std::int64_t rows_upper_bound = 0;
  float* amax = nullptr;         // f32 [count], or [total rows] when row_scaled
  std::int64_t amax_count = 0;

  Result<void> check(std::string_view op) const;
  // The descriptors for members that lie one behind another in common buffers, each member's scales
  // padded as the layout wants; host row offsets only. `out` has room for `count`.
  Result<void> describe(const Tensor& input, const QuantizedSide& buffers, MemberDescriptor* out) const;
  // Member i of such a group as a tensor of its own; host row offsets only.
  Result<QuantizedTensor> member(std::int64_t index, const QuantizedSide& buffers) const;
};

}  // namespace diecast
