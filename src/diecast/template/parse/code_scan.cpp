// Comments, literals and includes of C++ text; see code_scan.h.
#include <diecast/base/text.h>
#include <diecast/template/parse/code_scan.h>
#include <diecast/template/parse/token.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace diecast {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The end of what starts at `at`, if a comment or literal does; else `at`.
std::size_t skip(std::string_view code, std::size_t at) {
  const auto after = [&](std::string_view closing, std::size_t from) {
    const std::size_t end = code.find(closing, from);
    return end == std::string_view::npos ? code.size() : end + closing.size();
  };
  const std::string_view rest = code.substr(at);
  if (rest.starts_with("//")) return std::min(code.find('\n', at), code.size());
  if (rest.starts_with("/*")) return after("*/", at + 2);
  if (rest.starts_with("R\"") && (at == 0 || !is_word(code[at - 1]))) {
    const std::size_t open = code.find('(', at);
    if (open == std::string_view::npos) return code.size();
    return after(cat(")", code.substr(at + 2, open - at - 2), "\""), open);
  }
  const char quote = code[at];
  const bool separator = quote == '\'' && at > 0 && is_word(code[at - 1]);  // 1'000
  if ((quote != '"' && quote != '\'') || separator) return at;
  for (std::size_t end = at + 1; end < code.size(); ++end) {
    if (code[end] == '\\')
      ++end;
    else if (code[end] == quote || code[end] == '\n')
      return end + (code[end] == quote);
  }
  return code.size();
}

// A preprocessor line's word ("include") and where it starts and ends; empty for other lines.
struct Marked {
  std::string_view word;
  std::size_t begin = 0, end = 0;  // of '#', after the word
};

Marked marked_by(std::string_view bare) {
  const auto blanks = [&](std::size_t at) {
    while (at < bare.size() && (bare[at] == ' ' || bare[at] == '\t')) ++at;
    return at;
  };
  Marked out;
  out.begin = blanks(0);
  const std::string_view rest = bare.substr(out.begin);
  if (!rest.starts_with("#") && !rest.starts_with("%:")) return out;
  const std::size_t word = blanks(out.begin + (rest[0] == '#' ? 1 : 2));
  out.end = word;
  while (out.end < bare.size() && is_word(bare[out.end])) ++out.end;
  out.word = bare.substr(word, out.end - word);
  return out;
}

bool reads_a_file(std::string_view word) {
  return word.starts_with("include") || word == "import" || word == "embed";
}

// Where the next preprocessor line's mark may be.
std::size_t mark(std::string_view bare, std::size_t from) {
  return std::min(bare.find('#', from), bare.find("%:", from));
}

struct Line {
  std::size_t begin = 0, end = 0;
  std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

// The next line with such a mark; it begins at the text's end where there is none.
Line next_marked(std::string_view bare, std::size_t from) {
  const std::size_t at = mark(bare, from);
  if (at >= bare.size()) return {bare.size(), bare.size()};
  return {at == 0 ? 0 : bare.rfind('\n', at - 1) + 1, std::min(bare.find('\n', at), bare.size())};
}

std::string with_plain_line_ends(std::string_view code) {
  std::string text(code);
  for (std::size_t at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1))
    if (at + 1 == text.size() || text[at + 1] == '\n') text.erase(at--, 1);
  return text;
}

constexpr std::string_view kOfDiecast = "diecast/", kOfDevice = "diecast/device/";

// "<my/common.h>" is my/common.h; empty: it names no header that a template may include.
std::string_view header_named(std::string_view operand) {
  const std::size_t close = operand.find('>');
  if (!operand.starts_with('<') || close == operand.npos) return {};
  const std::string_view name = operand.substr(1, close - 1);
  if (name.starts_with(kOfDiecast) ? !name.starts_with(kOfDevice) : !is_header_name(name))
    return {};
  return name;
}

}  // namespace

// Headers are read when a process starts, so what lies between is never gone through byte by byte.
std::string bare_code(std::string_view code) {
  std::string bare(code);
  constexpr std::string_view kStarts = "/\"'";
  std::array<std::size_t, kStarts.size()> next{};  // each of them, at `at` or behind it
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = code.find(kStarts[i]);
  for (std::size_t at = 0;;) {
    for (std::size_t i = 0; i < next.size(); ++i)
      if (next[i] < at) next[i] = code.find(kStarts[i], at);
    const std::size_t start = *std::ranges::min_element(next);
    if (start == std::string_view::npos) return bare;
    std::size_t begin = start > at && code[start - 1] == 'R' ? start - 1 : start;
    std::size_t end = skip(code, begin);
    if (end == begin) end = skip(code, begin = start);
    at = std::max(end, start + 1);
    while (begin < end) {
      const std::size_t line = std::min(code.find('\n', begin), end);
      std::memset(&bare[begin], ' ', line - begin);
      begin = line + 1;  // line ends stay
    }
  }
}

std::size_t find_opening(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(kOpening, from); at != std::string_view::npos;
       at = text.find(kOpening, at + 1)) {
    const std::size_t end = at + kOpening.size();
    const bool whole = end == text.size() || text[end] == '\n' || text[end] == '\r' ||
                       text[end] == ' ' || text[end] == '\t' || text[end] == '*';
    if (whole && (at == 0 || text[at - 1] == '\n')) return at;
  }
  return std::string_view::npos;
}

std::size_t find_word(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  for (; at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) break;
  }
  return at;
}

std::vector<Directive> directives(std::string_view bare) {
  std::vector<Directive> out;
  for (Line at = next_marked(bare, 0); at.begin < bare.size(); at = next_marked(bare, at.end)) {
    while (at.end < bare.size() && trim(at.of(bare)).ends_with('\\'))
      at.end = std::min(bare.find('\n', at.end + 1), bare.size());
    const Marked line = marked_by(at.of(bare));
    if (!line.word.empty()) out.push_back({line.word, at.of(bare).substr(line.end)});
  }
  return out;
}

bool is_header_name(std::string_view name) {
  constexpr std::string_view kEnd = ".h";
  constexpr std::size_t kLongest = 200;
  if (name.size() > kLongest || !name.ends_with(kEnd) || name.find('/') == name.npos) return false;
  for (const std::string_view part : split(name.substr(0, name.size() - kEnd.size()), '/'))
    if (!is_identifier(part)) return false;
  return true;
}

Result<Inlined> take_includes(std::string_view code, std::string_view file, int first_line) {
  const std::string text = with_plain_line_ends(code);
  const std::string bare_text = bare_code(text);
  const std::string_view bare = bare_text;
  Inlined out;
  out.text.reserve(text.size() + 1);
  std::size_t copied = 0;
  for (Line at = next_marked(bare, 0); at.begin < bare.size(); at = next_marked(bare, at.end)) {
    const auto [begin, end] = at;
    const std::string_view line = at.of(text);
    const Marked directive = marked_by(at.of(bare));
    if (directive.word == "pragma" && trim(line.substr(directive.end)) == "once") {
      out.text.append(text, copied, begin - copied);
      copied = end;
    } else if (reads_a_file(directive.word)) {
      const std::string_view operand = trim(line.substr(directive.end));
      const std::string_view header = header_named(operand);
      const auto before = std::string_view(text).substr(0, begin);
      std::string where = cat(file, ":", first_line + std::ranges::count(before, '\n'));
      if (header.empty())
        return error_at({std::move(where), std::string(line)},
                        static_cast<int>(directive.begin) + 1,
                        "only <diecast/device/...> headers and your own, <my/common.h>, can be "
                        "included",
                        "a source is complete in itself: use a device header, write it here, or "
                        "add a header by runtime.add_header, --add-header or DIECAST_INCLUDE");
      out.includes.push_back({std::string(header), std::move(where)});
      out.text.append(text, copied, begin - copied);
      out.text += operand.substr(header.size() + 2);  // a comment may start on this line
      copied = end;
    }
  }
  out.text.append(text, copied);
  if (!text.empty() && !text.ends_with('\n')) out.text += '\n';
  return out;
}

}  // namespace diecast
