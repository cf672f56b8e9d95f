// A weight packed for `linear`: views, no memory of their own.
// templates/device/linear/packed_tile.h has the bytes.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/ops/quantized_type.h>
#include <diecast/ops/tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace diecast {

// How a weight's rows of gate and up lie in a checkpoint, half of its rows each: not such a weight,
// all of gate before all of up, or one of each in turn. A packed weight has 8 of each in turn.
enum class Gated : std::uint8_t { none, halves, alternate };
constexpr auto words_of(Gated) {
  return std::to_array<std::string_view>({"none", "halves", "alternate"});
}

// A weight as a checkpoint has it: [rows, cols], or [weights, rows, cols] one behind another.
struct LinearWeight {
  Format format = Format::nvfp4;  // or mxfp4
  Shape shape;                    // cols: whole blocks, of 16 or 32
  void* codes = nullptr;   // u8 [.., rows, cols / 2], the even column's in the low bits; align 8
  void* scales = nullptr;  // u8 [.., rows, cols / block], E4M3 or E8M0 row after row

  std::int64_t cols() const { return shape.cols(); }
  std::int64_t rows() const { return shape.rank < 2 ? 1 : shape.dims[shape.rank - 2]; }
  std::int64_t weights() const { return shape.rank == 3 ? shape.dims[0] : 1; }
  // Errors: not_supported (another format), shape_mismatch (a rank other than 2 and 3, cols that
  // are not whole blocks, sizes beyond 63 bits), missing_buffer.
  Result<void> check(std::string_view op) const;
};

// The bytes of one packed layout, a plain value to be kept beside them.
struct PackedLinear {
  static constexpr std::uint16_t kVersion = 1;  // of the layout

  std::uint16_t version = kVersion;
  Format format = Format::nvfp4;
  Gated gated = Gated::none;
  Shape shape;             // the weight's
  void* data = nullptr;    // align 16
  std::int64_t bytes = 0;  // of the caller's buffer

  // What a weight of this kind and shape needs: 64 x 64 codes and their scales for each tile.
  // Errors: as of check().
  static Result<std::int64_t> bytes_for(Format format, const Shape& shape);
  // Errors: not_supported (another version), shape_mismatch (a shape that is none of a weight's, a
  // buffer too small, gated rows that are not whole 16), missing_buffer, misaligned.
  Result<void> check(std::string_view op) const;
};

}  // namespace diecast
