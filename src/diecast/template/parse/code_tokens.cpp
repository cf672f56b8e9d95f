// Phases 1 to 3; see code_tokens.h.
#include <diecast/base/text.h>
#include <diecast/template/parse/code_tokens.h>

#include <algorithm>
#include <optional>

namespace diecast {
namespace {

// The text with its continued lines joined.
struct Joined {
  std::string text;
  std::vector<std::size_t> at;  // where in `text` a backslash and a line end were

  std::size_t offset(std::size_t place) const {
    const auto before = std::ranges::upper_bound(at, place) - at.begin();
    return place + 2 * static_cast<std::size_t>(before);
  }
};

class Reader {
 public:
  explicit Reader(std::string_view given) : given_(given) {}

  CodeTokens read() {
    if (check_characters()) {
      join_lines();
      while (!out_.fault && at_ < text().size()) step();
    }
    return std::move(out_);
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  std::string_view text() const { return joined_.text; }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text().size() ? text()[at_ + ahead] : '\n';
  }
  void refuse_given(std::size_t offset, std::string what, std::string fix) {
    out_.fault = CodeFault{offset, std::move(what), std::move(fix)};
  }
  void refuse(std::size_t place, std::string what, std::string fix) {
    refuse_given(joined_.offset(place), std::move(what), std::move(fix));
  }

  bool check_characters();
  void join_lines();
  void step();
  void comment();
  void line_end();
  void add(CodeToken::Kind kind, std::size_t begin);
  bool separates(std::size_t begin) const;
  void number(std::size_t begin);
  void word(std::size_t begin);
  void symbol(std::size_t begin);
  void literal(std::size_t begin);
  void raw_text(std::size_t begin);
  void check_raw_lines(std::size_t begin);

  const std::string_view given_;
  Joined joined_;
  std::size_t at_ = 0;
  bool first_ = true, blank_ = false;  // of the next token
  bool directive_ = false;             // in a line that begins with '#'
  bool ended_ = false;  // a comment of several lines has ended the directive for some compilers
  CodeTokens out_;
};

// Some compilers end a line at a carriage return, or the text at a zero; some join lines over
// blanks.
bool Reader::check_characters() {
  for (std::size_t i = 0; i < given_.size() && !out_.fault; ++i) {
    const auto byte = static_cast<unsigned char>(given_[i]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F)
      refuse_given(i, cat("control character ", int{byte}, " in the code"),
                   "remove it, or write it as an escape in a literal");
    if (byte != '\\' || i + 1 >= given_.size() || !is_blank(given_[i + 1])) continue;
    const std::size_t behind = given_.find_first_not_of(" \t", i + 1);
    if (behind != given_.npos && given_[behind] == '\n')
      refuse_given(i, "blanks between a backslash and the line's end",
                   "remove the blanks; compilers differ in whether the line goes on");
  }
  return !out_.fault;
}

void Reader::join_lines() {
  joined_.text.reserve(given_.size());
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (given_.substr(i, 2) == "\\\n") {
      joined_.at.push_back(joined_.text.size());
      ++i;
    } else {
      joined_.text += given_[i];
    }
  }
}

void Reader::step() {
  const std::size_t begin = at_;
  const char c = peek();
  if (c == '\n') return line_end();
  if (is_blank(c)) {
    blank_ = true;
    ++at_;
    return;
  }
  if (text().substr(at_, 2) == "//" || text().substr(at_, 2) == "/*") return comment();
  if (ended_)
    return refuse(begin, "a directive goes on behind a comment of several lines",
                  "write the comment on one line, or above");
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number(begin);
  if (is_word(c)) return word(begin);
  if (c == '"' || c == '\'') return literal(begin);
  symbol(begin);
}

void Reader::line_end() {
  ++at_;
  first_ = true;
  blank_ = directive_ = ended_ = false;
}

// Behind a comment with a line end in it a '#' begins a directive for some compilers only.
void Reader::comment() {
  blank_ = true;
  const bool line = text()[at_ + 1] == '/';
  const std::size_t end = line ? text().find('\n', at_) : text().find("*/", at_ + 2);
  if (end == text().npos && !line) return refuse(at_, "a comment that does not end", "end it: */");
  const std::string_view inside = text().substr(at_, end - at_);
  at_ = line ? std::min(end, text().size()) : end + 2;
  if (line || inside.find('\n') == inside.npos) return;
  ended_ = directive_;
  first_ = true;
}

void Reader::add(CodeToken::Kind kind, std::size_t begin) {
  CodeToken token;
  token.kind = kind;
  token.first = first_;
  token.blank_before = blank_;
  token.offset = joined_.offset(begin);
  token.spelling = text().substr(begin, at_ - begin);
  if (first_) directive_ = token.is("#");
  first_ = blank_ = false;
  out_.tokens.push_back(std::move(token));
}

// Whether a quote behind these digits separates them from the next: 1'000, 0xFF'FF. Elsewhere in a
// number ("1on't") compilers differ in whether it opens a literal.
bool Reader::separates(std::size_t begin) const {
  std::string_view digits = text().substr(begin, at_ - begin);
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex || digits.starts_with("0b") || digits.starts_with("0B")) digits.remove_prefix(2);
  const std::string_view allowed = hex ? "0123456789abcdefABCDEF" : "0123456789";
  const auto is_digit_of_it = [&](char c) { return allowed.find(c) != allowed.npos; };
  return !digits.empty() && is_digit_of_it(digits.back()) && is_digit_of_it(peek(1)) &&
         std::ranges::all_of(digits, [&](char c) { return c == '\'' || is_digit_of_it(c); });
}

// A "preprocessing number": 1'000, 0x1p-3f, 1.5e+7.
void Reader::number(std::size_t begin) {
  for (++at_; at_ < text().size(); ++at_) {
    const char c = peek(), last = text()[at_ - 1];
    const bool exponent = last == 'e' || last == 'E' || last == 'p' || last == 'P';
    if (c == '\'' && !separates(begin))
      return refuse(at_, "a quote right behind a number", "write a blank between them");
    if (!is_word(c) && c != '.' && c != '\'' && !(exponent && (c == '+' || c == '-'))) break;
  }
  add(CodeToken::Kind::number, begin);
}

void Reader::word(std::size_t begin) {
  while (is_word(peek())) ++at_;
  const std::string_view word = text().substr(begin, at_ - begin);
  const bool raw = word.ends_with('R');
  const std::string_view encoding = word.substr(0, word.size() - raw);
  const bool prefix =
      encoding.empty() || encoding == "u8" || encoding == "u" || encoding == "U" || encoding == "L";
  if (prefix && raw && peek() == '"') return raw_text(begin);
  if (prefix && !raw && (peek() == '"' || peek() == '\'')) return literal(begin);
  add(CodeToken::Kind::word, begin);
}

void Reader::symbol(std::size_t begin) {
  const char c = peek();
  if (c == '%' && peek(1) == ':')
    return refuse(begin, "`%:` is another spelling of `#`", "write `#`");
  if (c == '\\' || c == '$' || c == '@' || c == '`' || static_cast<unsigned char>(c) >= 0x80)
    return refuse(begin, cat("a character that is none of C++: ", quote(text().substr(begin, 1))),
                  "write names in letters, digits and `_`");
  at_ += c == '#' && peek(1) == '#' ? 2 : 1;
  add(CodeToken::Kind::symbol, begin);
}

// "..." or '...', from behind its prefix on.
void Reader::literal(std::size_t begin) {
  const char quote = peek();
  for (++at_; peek() != quote; ++at_) {
    if (peek() == '\\') ++at_;
    if (peek() == '\n')
      return refuse(begin, cat("`", quote, "` that its line does not close"),
                    "close it; in `#error` and in comments of `#if 0` write words without quotes");
  }
  ++at_;
  if (is_word(peek()))
    return refuse(at_, "a word right behind a literal", "write a blank between them");
  add(quote == '"' ? CodeToken::Kind::text : CodeToken::Kind::character, begin);
}

void Reader::raw_text(std::size_t begin) {
  const std::size_t mark = at_ + 1, open = text().find('(', mark);
  const std::string_view name = text().substr(mark, std::min(open, text().size()) - mark);
  const std::size_t close = open == text().npos ? open : text().find(cat(")", name, "\""), open);
  if (name.size() > 16 || name.find_first_of(" \t\n\\)\"") != name.npos || close == text().npos)
    return refuse(begin, "a raw string that does not end", "write R\"(...)\"");
  at_ = close + name.size() + 2;
  check_raw_lines(begin);
  if (out_.fault) return;
  if (is_word(peek()))
    return refuse(at_, "a word right behind a literal", "write a blank between them");
  add(CodeToken::Kind::text, begin);
}

// Compilers differ in where a raw string ends that has several lines and stands in a directive.
void Reader::check_raw_lines(std::size_t begin) {
  const auto joined = std::ranges::upper_bound(joined_.at, begin);
  if (joined != joined_.at.end() && *joined < at_)
    return refuse(begin, "a backslash at the end of a raw string's line", "remove it");
  const std::string_view inside = text().substr(begin, at_ - begin);
  for (std::size_t end = inside.find('\n'); end != inside.npos; end = inside.find('\n', end + 1)) {
    const std::string_view line = inside.substr(inside.find_first_not_of(" \t\n", end));
    if (directive_ || line.starts_with('#') || line.starts_with("%:"))
      return refuse(begin,
                    directive_ ? "a raw string of several lines in a directive"
                               : "a raw string with a line that begins with `#`",
                    "write it as \"...\" strings, one a line");
  }
}

}  // namespace

CodeTokens code_tokens(std::string_view text) { return Reader(text).read(); }

}  // namespace diecast
