// What kind of quantized matrix it is, apart from its shape and from where it lies: eight bytes,
// compared as a whole.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace diecast {

enum class Format : std::uint8_t { nvfp4, mxfp8_e4m3, mxfp8_e5m2, mxfp4 };
constexpr auto words_of(Format) {
  return std::to_array<std::string_view>({"nvfp4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"});
}

// Where the block scales lie: row after row, or in tiles of 128x4 or 8x4 scales.
enum class ScaleLayout : std::uint8_t { linear, s128x4, s8x4 };
constexpr auto words_of(ScaleLayout) {
  return std::to_array<std::string_view>({"linear", "s128x4", "s8x4"});
}

// Whose bits: templates/PROFILES.md has the formulas.
enum class Profile : std::uint8_t {
  te,
  pr546,
  modelopt,
  torchao,
  te_ref,
  te_fast,
  flashinfer_exact,
  flashinfer_fast,
  flashinfer_dsl_exact,
  flashinfer_dsl_fast
};
constexpr auto words_of(Profile) {
  return std::to_array<std::string_view>({"te", "pr546", "modelopt", "torchao", "te_ref", "te_fast",
                                          "flashinfer_exact", "flashinfer_fast",
                                          "flashinfer_dsl_exact", "flashinfer_dsl_fast"});
}

// Whether a profile's NVFP4 amaxes leave NaN out. The other profiles keep it.
constexpr bool ignores_nan(Profile profile) {
  return profile == Profile::te || profile >= Profile::te_fast;
}
// Whether a profile defines an e4m3_bound of 256.
constexpr bool takes_half_bound(Profile profile) {
  return profile == Profile::te || profile == Profile::modelopt;
}
// Whether a format packs two codes into a byte.
constexpr bool is_four_bit(Format format) {
  return format == Format::nvfp4 || format == Format::mxfp4;
}
// The elements that share a scale: 16 for nvfp4, 32 for the mx formats.
constexpr int block_of(Format format) { return format == Format::nvfp4 ? 16 : 32; }
// Rows and scale columns of a layout's tile. The scale matrix is padded to whole tiles.
constexpr int scale_tile_rows(ScaleLayout layout) {
  return layout == ScaleLayout::s128x4 ? 128 : layout == ScaleLayout::s8x4 ? 8 : 1;
}
constexpr int scale_tile_cols(ScaleLayout layout) { return layout == ScaleLayout::linear ? 1 : 4; }

// Which directions of a matrix: along its rows, along its columns (its transpose's rows), or both.
enum class Sides : std::uint8_t { rowwise, columnwise, both };
constexpr auto words_of(Sides) {
  return std::to_array<std::string_view>({"rowwise", "columnwise", "both"});
}
constexpr bool has_rows(Sides sides) { return sides != Sides::columnwise; }
constexpr bool has_columns(Sides sides) { return sides != Sides::rowwise; }

struct QuantizedType {
  Format format = Format::nvfp4;
  ScaleLayout layout = ScaleLayout::linear;
  Profile profile = Profile::te;
  bool square = false;             // blocks of 16x16 (nvfp4) or 32x32 (mx), not 1x16 or 1x32
  bool row_scaled = false;         // nvfp4: one amax a row instead of one in all
  std::uint8_t unused = 0;         // leaves no padding, so that eight bytes say everything
  std::uint16_t e4m3_bound = 448;  // nvfp4: the block scale that the global scale aims at, or 256

  // Elements of a block along its direction, and across it.
  constexpr int block() const { return block_of(format); }
  constexpr int block_rows() const { return square ? block() : 1; }
  bool operator==(const QuantizedType&) const = default;

  // Whether format, layout and profile are values of their enumerations.
  constexpr bool is_known() const {
    return is_value(format) && is_value(layout) && is_value(profile);
  }
  // Errors: value_not_allowed (no format, layout or profile; an e4m3_bound other than 448 and 256),
  // not_supported (row scales on a format or block without them, a bound that the profile lacks).
  Result<void> check() const;
  // "mxfp8_e4m3 in 32x32 blocks, s128x4 scales, profile te", for messages.
  std::string text() const;
};
// As fields of a request (request.h).
template <class Type, class As>
constexpr void fields_of(Type& type, As&& as) {
  as("FORMAT", type.format), as("LAYOUT", type.layout), as("PROFILE", type.profile);
  as("square", type.square), as("ROW_SCALE", type.row_scaled), as("BOUND", type.e4m3_bound);
}
static_assert(sizeof(QuantizedType) == 8);
static_assert(std::has_unique_object_representations_v<QuantizedType>);

}  // namespace diecast
