// Text tools; see text.h. Nothing here depends on the locale.
#include <diecast/base/text.h>
#include <locale.h>
#include <string.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace diecast {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Letters put in, left out or exchanged, and neighbours that changed places.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same(i - 1, j - 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && is_space(text[i])) ++i;
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    if (i > begin) parts.push_back(text.substr(begin, i - begin));
  }
  return parts;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (first == 0xC2 && byte(1) < 0xA0) return 0;  // a control character
  if (first == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (first == 0xED && byte(1) > 0x9F) return 0;  // surrogate
  if (first == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (first == 0xF4 && byte(1) > 0x8F) return 0;  // beyond U+10FFFF
  return length;
}

std::string quote(std::string_view text, std::size_t limit) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    if (i >= limit) return out + "...\"";
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0 || c < 0x20 || c == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += text.substr(i, length);
    i += length;
  }
  return out + "\"";
}

std::string_view nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string_view best;
  std::size_t best_distance =
      word.size() < 4 ? std::min<std::size_t>(word.size(), 2) : 1 + word.size() / 3;
  const auto starts_alike = [&](std::string_view other) {  // to the letter's case
    return !word.empty() && !other.empty() && word[0] == other[0];
  };
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const bool better =
        best.empty() ? distance < word.size() : starts_alike(candidate) && !starts_alike(best);
    if (distance < best_distance || (distance == best_distance && better)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string_view best = nearest(word, candidates);
  return best.empty() ? std::string() : cat("; did you mean `", best, "`?");
}

std::string environment_variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value ? value : "";
}

bool lacks_descriptors(int code) { return code == EMFILE || code == ENFILE; }

std::string_view errno_text(int code) {
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string_view text = ::strerror_l(code, plain);  // strerror speaks the locale's language
  return text.starts_with("Unknown error") ? "unknown error" : text;  // made anew at each call
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return cat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024.0;
  int unit = 0;
  for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024.0;  // 1023.95 would print as 1024
  const auto tenths = static_cast<std::uint64_t>(value * 10.0 + 0.5);
  return tenths % 10 == 0 ? cat(tenths / 10, ' ', kUnits[unit])
                          : cat(tenths / 10, '.', tenths % 10, ' ', kUnits[unit]);
}

}  // namespace diecast
