// The tokens of one statement, mostly one line, and the one form of an error that points into it.
// The header's lines and the expressions in them are read through the same cursor, so every message
// shows the same thing: place, what was found, the line, a caret.
#pragma once

#include <diecast/base/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct SourceLine {
  std::string file;           // "quantize.cu"; the whole place where the number is 0
  std::string text;           // a statement; several lines where it has line ends
  int first_column = 1;       // column of text's first character
  int number = 0;             // of the first line
  std::string where() const;  // "quantize.cu:12"
};

// parse_error "WHERE:COLUMN: what", then the line and a caret. `column` counts the text's bytes
// from `first_column` on, through all of its lines; shown are the line that it is in and its place
// there.
Error error_at(const SourceLine& line, int column, std::string_view what, std::string fix);

struct Token {
  enum class Kind : std::uint8_t { end, number, real, word, symbol };
  Kind kind = Kind::end;
  std::string_view text;  // into the line
  int column = 0;
  std::int64_t number = 0;  // of a number; of a real its 32 bits

  bool is(std::string_view symbol_or_word) const {
    return kind != Kind::end && text == symbol_or_word;
  }
  std::string shown() const;  // "`rows`", "the end of the line"
};

// A cursor over the tokens of a line. The line must outlive it.
class Tokens {
 public:
  // Reads from the line's `begin`-th byte to its `end`-th. Errors: a character or number that is
  // none of the language.
  static Result<Tokens> read(const SourceLine& line, std::size_t begin, std::size_t end);

  const Token& peek() const { return tokens_[next_]; }
  const Token& next() { return next_ + 1 < tokens_.size() ? tokens_[next_++] : tokens_[next_]; }
  bool accept(std::string_view symbol_or_word);
  // The next token, which must be this symbol; `role` ("after the shape") goes into the error.
  Result<void> expect(std::string_view symbol, std::string_view role);
  Result<Token> expect_word(std::string_view role);  // "a size's name"
  Result<void> expect_end();
  // The text from the token that began at `column` to the last token taken, on one line.
  std::string text_since(int column) const;

  Error error(const Token& token, std::string_view what, std::string fix) const {
    return error_at(*line_, token.column, what, std::move(fix));
  }
  const SourceLine& line() const { return *line_; }

 private:
  Result<std::size_t> read_number(std::size_t at, std::size_t end);
  Result<std::size_t> read_real(std::size_t at, std::size_t end);
  const SourceLine* line_ = nullptr;
  std::vector<Token> tokens_;  // the last one is `end`
  std::size_t next_ = 0;
};

// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);

}  // namespace diecast
