// Tokens of a line; see token.h.
#include <diecast/base/text.h>
#include <diecast/template/parse/token.h>
#include <diecast/template/value.h>

#include <algorithm>

namespace diecast {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

constexpr std::string_view kSymbols[] = {
    "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "::", "(", ")", "[", "]", "{", "}", ",",
    "=",  "<",  ">",  "+",  "-",  "*",  "/",  "%",  "!",  "?", ":", "&", "|", "^", "~"};

std::string_view symbol_at(std::string_view text) {
  for (std::string_view symbol : kSymbols)
    if (text.substr(0, symbol.size()) == symbol) return symbol;
  return {};
}

// Shown lines come from files of any origin: no control character reaches a terminal, and a line of
// a megabyte is a window around the caret.
constexpr std::size_t kShown = 160, kBefore = 120;

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (char c : text)
    if (!is_letter(c) && !is_digit(c)) return false;
  return true;
}

std::string SourceLine::where() const { return number == 0 ? file : cat(file, ":", number); }

Error error_at(const SourceLine& line, int column, std::string_view what, std::string fix) {
  auto at = static_cast<std::size_t>(column - line.first_column);
  std::string_view text(line.text);
  std::string where = line.where();
  if (const std::size_t end = text.substr(0, at).rfind('\n'); end != std::string_view::npos) {
    const auto passed = std::ranges::count(text.substr(0, at), '\n');
    where = cat(line.file, ":", line.number + passed);
    text.remove_prefix(end + 1);
    at -= end + 1;
    column = static_cast<int>(at) + 1;
  }
  text = text.substr(0, std::min(text.find('\n', at), text.size()));
  if (text.ends_with('\r') && at < text.size()) text.remove_suffix(1);
  const std::size_t begin = at > kBefore ? at - kBefore : 0;
  std::string shown, caret;
  for (std::size_t i = begin; i < text.size() && i < begin + kShown; ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool safe = byte >= 0x20 && byte < 0x7F;
    shown += safe || c == '\t' ? c : '?';
    if (i < at) caret += c == '\t' ? '\t' : ' ';
  }
  while (!shown.empty() && (shown.back() == ' ' || shown.back() == '\t')) shown.pop_back();
  caret.resize(std::max(caret.size(), at - begin), ' ');
  return {ErrorCode::parse_error,
          cat(where, ":", column, ": ", what, "\n", shown, "\n", caret, "^"), std::move(fix)};
}

std::string Token::shown() const {
  return kind == Kind::end ? "the end of the line" : cat("`", text, "`");
}

namespace {

// Where a decimal that has a point or an exponent ends; `at` for any other text.
std::size_t real_end(std::string_view text, std::size_t at) {
  const auto digits = [text](std::size_t from) {
    while (from < text.size() && is_digit(text[from])) ++from;
    return from;
  };
  const auto is = [text](std::size_t i, char a, char b) {
    return i < text.size() && (text[i] == a || text[i] == b);
  };
  std::size_t stop = digits(at);
  if (stop == at) return at;
  const bool point = is(stop, '.', '.');
  if (point) stop = digits(stop + 1);
  if (!is(stop, 'e', 'E')) return point ? stop : at;
  const std::size_t power = is(stop + 1, '-', '+') ? stop + 2 : stop + 1;
  const std::size_t end = digits(power);
  return end > power ? end : point ? stop : at;
}

}  // namespace

Result<std::size_t> Tokens::read_real(std::size_t at, std::size_t end) {
  const std::string_view text(line_->text);
  std::size_t stop = real_end(text.substr(0, end), at);
  const std::size_t number = stop;
  while (stop < end && (is_digit(text[stop]) || is_letter(text[stop]) || text[stop] == '.')) ++stop;
  Token token{Token::Kind::real, text.substr(at, stop - at),
              line_->first_column + static_cast<int>(at), 0};
  const auto value = parse_real(token.text);
  if (!value)
    return error(
        token,
        cat(quote(token.text, 40), stop == number ? " does not fit in f32" : " is not a number"),
        stop == number ? cat("write ", kReals)
                       : "write decimals as 7.0, 0.1 or 1e-5, without an f");
  token.number = value->number;
  tokens_.push_back(token);
  return stop;
}

Result<std::size_t> Tokens::read_number(std::size_t at, std::size_t end) {
  const std::string_view text(line_->text);
  std::size_t stop = at;
  while (stop < end && (is_digit(text[stop]) || is_letter(text[stop]))) ++stop;
  Token token{Token::Kind::number, text.substr(at, stop - at),
              line_->first_column + static_cast<int>(at), 0};
  for (char c : token.text)
    if (!is_digit(c))
      return error(token, cat(token.shown(), " is not a number"),
                   "numbers are plain decimal integers");
  if (token.text.size() > 1 && token.text[0] == '0')
    return error(token, cat(token.shown(), " starts with 0, which is octal in C++"),
                 "write the number without leading zeros");
  const auto number = parse_integer(token.text);
  if (!number)
    return error(token, cat(quote(token.text, 40), " does not fit in 64 bits"),
                 "numbers go up to 9223372036854775807");
  token.number = *number;
  tokens_.push_back(token);
  return stop;
}

Result<Tokens> Tokens::read(const SourceLine& line, std::size_t begin, std::size_t end) {
  Tokens out;
  out.line_ = &line;
  const std::string_view text(line.text);
  const auto column = [&](std::size_t at) { return line.first_column + static_cast<int>(at); };
  for (std::size_t at = begin; at < end;) {
    if (is_blank(text[at])) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), end);
    } else if (real_end(text.substr(0, end), at) != at) {
      DIECAST_TRY(at, out.read_real(at, end));
    } else if (is_digit(text[at])) {
      DIECAST_TRY(at, out.read_number(at, end));
    } else if (is_letter(text[at])) {
      std::size_t stop = at;
      while (stop < end && (is_letter(text[stop]) || is_digit(text[stop]))) ++stop;
      out.tokens_.push_back({Token::Kind::word, text.substr(at, stop - at), column(at), 0});
      at = stop;
    } else if (const auto symbol = symbol_at(text.substr(at, end - at)); !symbol.empty()) {
      out.tokens_.push_back({Token::Kind::symbol, text.substr(at, symbol.size()), column(at), 0});
      at += symbol.size();
    } else {
      return error_at(line, column(at),
                      cat(quote(text.substr(at, 1)), " is not part of the language"), "remove it");
    }
  }
  std::size_t last = begin;  // behind the last of them
  if (!out.tokens_.empty())
    last = static_cast<std::size_t>(out.tokens_.back().text.data() - text.data()) +
           out.tokens_.back().text.size();
  out.tokens_.push_back({Token::Kind::end, {}, column(last), 0});
  return out;
}

bool Tokens::accept(std::string_view symbol_or_word) {
  if (!peek().is(symbol_or_word)) return false;
  next();
  return true;
}

Result<void> Tokens::expect(std::string_view symbol, std::string_view role) {
  if (accept(symbol)) return {};
  return error(peek(), cat("expected `", symbol, "` ", role, ", found ", peek().shown()),
               cat("write `", symbol, "` here"));
}

Result<Token> Tokens::expect_word(std::string_view role) {
  if (peek().kind == Token::Kind::word) return next();
  return error(peek(), cat("expected ", role, ", found ", peek().shown()),
               cat("write ", role, " here"));
}

Result<void> Tokens::expect_end() {
  if (peek().kind == Token::Kind::end) return {};
  const std::string what = cat("the line should end before ", peek().shown());
  if (peek().is("=")) return error(peek(), what, "remove it; two numbers are compared by `==`");
  static const auto& words = *new std::vector<std::string>{
      "align", "approx", "device", "divisible", "optional", "settled", "stride"};
  if (std::ranges::find(words, peek().text) != words.end())
    return error(
        peek(), what,
        "write `size n device divisible 16`, `arg x in f32 [n] stride align 16`: each word "
        "once and where it stands there");
  const std::string meant =
      peek().kind == Token::Kind::word ? did_you_mean(peek().text, words) : "";
  return error(peek(), what + meant, meant.empty() ? "remove it" : "write that word, or remove it");
}

std::string Tokens::text_since(int column) const {
  const Token& last = tokens_[next_ - 1];
  const auto begin = static_cast<std::size_t>(column - line_->first_column);
  const auto end = static_cast<std::size_t>(last.column - line_->first_column) + last.text.size();
  const std::string_view text = std::string_view(line_->text).substr(begin, end - begin);
  if (text.find('\n') == std::string_view::npos) return std::string(text);
  std::vector<std::string> lines;
  for (std::string_view line : split(text, '\n'))
    lines.emplace_back(trim(line.substr(0, line.find("//"))));
  return join(lines, " ");
}

}  // namespace diecast
