// The words of enumerations. An enumeration that has words declares them once, beside itself:
//
//   enum class MxMode : std::uint8_t { rceil, floor };
//   constexpr auto words_of(MxMode) { return std::to_array<std::string_view>({"rceil", "floor"}); }
//
// and word(), is_value() and parse_word() follow.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace diecast {

template <class Enum>
concept HasWords = std::is_enum_v<Enum> && requires {
  words_of(Enum{}).size();
};

// Whether a number is one of the enumeration's values.
template <HasWords Enum>
constexpr bool is_value(Enum value) {
  return static_cast<std::size_t>(value) < words_of(Enum{}).size();
}

// An enumerator's word; "unknown" for a number that is none of them.
template <HasWords Enum>
constexpr std::string_view word(Enum value) {
  return is_value(value) ? words_of(Enum{})[static_cast<std::size_t>(value)] : "unknown";
}

// The enumerator of a word, or nothing.
template <HasWords Enum>
constexpr std::optional<Enum> parse_word(std::string_view text) {
  const auto words = words_of(Enum{});
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace diecast
