// A weight as a checkpoint has it and as `linear` wants it: views, no memory of their own.
// templates/device/linear/packed_tile.h has the bytes of a packed weight.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/ops/quantized_type.h>
#include <diecast/ops/tensor.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace diecast {

// How a weight's rows of gate and up lie in a checkpoint, half of its rows each: not such a weight,
// all of gate before all of up, or one of each in turn. A packed weight has 8 of each in turn.
enum class Gated : std::uint8_t { none, halves, alternate };
constexpr auto words_of(Gated) {
  return std::to_array<std::string_view>({"none", "halves", "alternate"});
}

// Weights of a checkpoint, [rows, cols] or several [weights, rows, cols] one behind another.
struct LinearWeight {
  Format format = Format::nvfp4;  // or mxfp4
  Shape shape;                    // cols: whole blocks, of 16 or 32
  void* codes = nullptr;   // u8 [.., rows, cols / 2], the even column in the low bits; align 8
  void* scales = nullptr;  // E4M3 or E8M0 [.., rows, cols / block]
  // Of gate and up as two tensors, [.., rows / 2, cols] each, up's; codes and scales are gate's.
  void* up_codes = nullptr;
  void* up_scales = nullptr;

  bool is_apart() const { return up_codes != nullptr || up_scales != nullptr; }
  // Errors: not_supported (another format), shape_mismatch (a rank other than 2 and 3, cols that
  // are not whole blocks, sizes beyond 63 bits), missing_buffer, misaligned.
  Result<void> check(std::string_view op) const;
};

// Packed weights. All but the address is a plain value that is to be kept beside the bytes.
struct PackedLinear {
  static constexpr std::uint16_t kVersion = 1;  // of the layout
  static constexpr std::int64_t kSide = 64;     // rows and columns of a tile

  std::uint16_t version = kVersion;
  Format format = Format::nvfp4;
  Gated gated = Gated::none;
  Shape shape;             // the weight's
  void* data = nullptr;    // align 16
  std::int64_t bytes = 0;  // of the caller's buffer, bytes_for() or more

  std::int64_t weights() const { return shape.rank == 3 ? shape.dims[0] : 1; }
  std::int64_t rows() const { return shape.dims[shape.rank == 3 ? 1 : 0]; }
  std::int64_t cols() const { return shape.cols(); }
  // Bytes of packed weights: 2304 (nvfp4) or 2176 (mxfp4) for every 64 x 64 of each. Errors: those
  // of a LinearWeight's format and shape.
  static Result<std::int64_t> bytes_for(Format format, const Shape& shape);
  // Errors: not_supported (another version or format), shape_mismatch (a shape that is no weight's,
  // gated rows that are not whole 16, a buffer too small), missing_buffer, misaligned.
  Result<void> check(std::string_view op) const;
};

}  // namespace diecast
