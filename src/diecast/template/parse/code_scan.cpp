// Comments, literals and includes of C++ text; see code_scan.h.
#include <diecast/base/text.h>
#include <diecast/template/parse/code_scan.h>
#include <diecast/template/parse/token.h>

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
struct Directive {
  std::string_view word;
  std::size_t begin = 0, end = 0;  // of '#', after the word
};

Directive directive_of(std::string_view bare) {
  const auto blanks = [&](std::size_t at) {
    while (at < bare.size() && (bare[at] == ' ' || bare[at] == '\t')) ++at;
    return at;
  };
  Directive out;
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

constexpr std::string_view kOurs = "<diecast/device/";

}  // namespace

std::string bare_code(std::string_view code) {
  std::string bare(code);
  const auto may_start = [](char c) { return c == '/' || c == 'R' || c == '"' || c == '\''; };
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = may_start(code[at]) ? skip(code, at) : at;
    for (std::size_t i = at; i < end; ++i)
      if (bare[i] != '\n') bare[i] = ' ';
    at = end > at ? end : at + 1;
  }
  return bare;
}

std::size_t find_word(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  for (; at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) break;
  }
  return at;
}

Result<Inlined> take_includes(std::string_view code, std::string_view file, int first_line) {
  Inlined out;
  const std::string bare = bare_code(code);
  std::size_t begin = 0;
  for (int number = first_line; begin < code.size(); ++number) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    std::string line(code.substr(begin, end - begin));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const Directive directive = directive_of(std::string_view(bare).substr(begin, line.size()));
    begin = end + 1;
    if (directive.word == "pragma" &&
        trim(std::string_view(line).substr(directive.end)) == "once") {
      line.clear();
    } else if (reads_a_file(directive.word)) {
      const std::string_view operand = trim(std::string_view(line).substr(directive.end));
      const std::size_t close = operand.find('>');
      if (!operand.starts_with(kOurs) || close == std::string_view::npos)
        return error_at({cat(file, ":", number), line}, static_cast<int>(directive.begin) + 1,
                        "only <diecast/device/...> headers can be included",
                        "a source is complete in itself: use a device header, or write it here");
      out.includes.emplace_back(operand.substr(1, close - 1));
      line = operand.substr(close + 1);  // a comment may start on this line
    }
    out.text += line;
    out.text += '\n';
  }
  return out;
}

}  // namespace diecast
