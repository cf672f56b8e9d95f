// Small text tools shared by every floor: joining values into messages, splitting, escaping what
// comes from outside, and guessing what a mistyped word was meant to be.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace diecast {

namespace text_detail {
inline void append(std::string& out, std::string_view value) { out += value; }
inline void append(std::string& out, const char* value) { out += value; }
inline void append(std::string& out, char value) { out += value; }
inline void append(std::string& out, bool value) { out += value ? "true" : "false"; }
template <class T>
requires std::is_arithmetic_v<T>
void append(std::string& out, T value) {  // to_chars: the same digits in every locale
  char buffer[64];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
}  // namespace text_detail

// cat("K = ", 16, " of ", name): the values' texts one after another, locale-independent.
template <class... Values>
std::string cat(const Values&... values) {
  std::string out;
  (text_detail::append(out, values), ...);
  return out;
}

// An enumerator's name, of all of them in their order; "unknown" for a number that is none of them.
template <class Enum, std::size_t Count>
constexpr std::string_view name_of(Enum value, const std::string_view (&names)[Count]) {
  const auto at = static_cast<std::size_t>(value);
  return at < Count ? names[at] : "unknown";
}

std::string_view trim(std::string_view text);  // spaces, tabs and line ends
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty parts
std::vector<std::string_view> words(std::string_view text);  // split at runs of white space
std::string join(std::span<const std::string> parts, std::string_view separator);

// A whole decimal integer with an optional sign, nothing else around it; none if it does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

// Bytes of the UTF-8 character at the front of text, which is not empty; 0 where there is none, or
// one of the control characters U+0080 to U+009F, which a terminal may obey.
std::size_t utf8_length(std::string_view text);

// "a" b -> the text in double quotes with control characters, quotes and bytes that are not UTF-8
// escaped, cut after `limit` bytes: safe to print whatever a file or a user gave.
std::string quote(std::string_view text, std::size_t limit = 200);

// The candidate nearest to `word` by edit distance (letter case ignored, but for the first letter
// of two as near), if it is near enough to be a typing slip; else an empty view.
std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean `x`?" for the nearest candidate, or an empty text.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// The variable's value; empty where it is not set, and in a set-user-id program.
std::string environment_variable(const char* name);

// What an errno says, the same in every locale: 2 -> "No such file or directory".
std::string_view errno_text(int code);
bool lacks_descriptors(int code);  // an errno: this process, or the machine, has no more

// 1536 -> "1.5 KiB", 900 -> "900 B".
std::string human_bytes(std::uint64_t bytes);

}  // namespace diecast
