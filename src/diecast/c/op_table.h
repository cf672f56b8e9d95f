// The table of ops (diecast/c/ops.h) as C++ has it: a structure a line, and the enumerations that
// its words come from.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/c/ops.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace diecast::c {

// Enumerations of options that diecast has no type for.
enum class MxFormat : std::uint8_t { mxfp8_e4m3, mxfp8_e5m2, mxfp4 };
constexpr auto words_of(MxFormat) {
  return std::to_array<std::string_view>({"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"});
}
enum class FloatType : std::uint8_t { bf16, f16, f32 };
constexpr auto words_of(FloatType) {
  return std::to_array<std::string_view>({"bf16", "f16", "f32"});
}
enum class PackedFormat : std::uint8_t { nvfp4, mxfp4 };
constexpr auto words_of(PackedFormat) {
  return std::to_array<std::string_view>({"nvfp4", "mxfp4"});
}
enum class GemmPath : std::uint8_t { own, cublaslt, automatic, unpacked };
constexpr auto words_of(GemmPath) {
  return std::to_array<std::string_view>({"own", "cublaslt", "auto", "unpacked"});
}
enum class TiledFirst : std::uint8_t { s128x4, s8x4, linear };
constexpr auto words_of(TiledFirst) {
  return std::to_array<std::string_view>({"s128x4", "s8x4", "linear"});
}

// An op's structures, name, defaults and description.
namespace line {
#define DIECAST_C_LINE(number, name, TABLE, what)                     \
  struct name {                                                       \
    using Tensors = diecast_##name##_tensors;                         \
    using Options = diecast_##name##_options;                         \
    static constexpr std::string_view kName = #name;                  \
    static Options defaults() { return diecast_##name##_defaults(); } \
    static const diecast_op_info& info();                             \
  };
DIECAST_OPS(DIECAST_C_LINE)
#undef DIECAST_C_LINE
}  // namespace line

// What messages call an option: "quantize_nvfp4: layout".
Error wrong_word(std::string_view op, std::string_view option, std::string_view word,
                 std::span<const std::string_view> words);
// One of an enumeration's words; null: the first. Errors: value_not_allowed with all of them.
template <HasWords Enum>
Result<Enum> read_word(const char* word, std::string_view op, std::string_view option) {
  if (word == nullptr) return Enum{};
  if (const auto value = parse_word<Enum>(word)) return *value;
  return wrong_word(op, option, word, words_of(Enum{}));
}
// An integer from 0 to `most`. Errors: value_not_allowed.
Result<std::int64_t> read_count(std::int64_t count, std::int64_t most, std::string_view op,
                                std::string_view option);

}  // namespace diecast::c
