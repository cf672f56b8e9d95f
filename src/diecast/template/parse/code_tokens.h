// C++ text as a preprocessor first sees it, translation phases 1 to 3: lines are joined, comments
// are gone, and what is left is tokens. Text that compilers take apart in different ways is
// refused, so that what is read here is what every one of them reads. Not a public header.
#pragma once

#include <diecast/base/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct CodeToken {
  enum class Kind : std::uint8_t { word, number, text, character, symbol };
  Kind kind = Kind::symbol;
  bool first = false;  // of its line: a '#' here begins a directive, for some compiler at least
  bool blank_before = false;
  std::size_t offset = 0;  // into the text as it was given
  std::string spelling;    // lines joined; a symbol is one character, or "##"

  bool is(std::string_view what) const {
    return spelling == what && kind != Kind::text && kind != Kind::character;
  }
};

// What is wrong with a text, and where.
struct CodeFault {
  std::size_t offset = 0;
  std::string what, fix;
};

struct CodeTokens {
  std::vector<CodeToken> tokens;
  std::optional<CodeFault> fault;  // then the tokens end before it
};
CodeTokens code_tokens(std::string_view text);

}  // namespace diecast
