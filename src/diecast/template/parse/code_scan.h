// A light reading of C++ text: where its comments and literals are, and which headers it includes.
// Enough to find #include and #if lines and DIECAST_KERNEL; nothing is parsed. Not a public header.
#pragma once

#include <diecast/base/error.h>

#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// Where the opening of a header, `/* diecast`, stands alone at the start of a line, from `from` on;
// or npos.
constexpr std::string_view kOpening = "/* diecast";
std::size_t find_opening(std::string_view text, std::size_t from);

// The same text with comments and the insides of literals as blanks; lines and columns stay.
std::string bare_code(std::string_view code);

// Where `word` stands by itself, or npos.
std::size_t find_word(std::string_view text, std::string_view word);

// A preprocessor line of bare code: its word ("ifdef", "define") and what is behind it, to the end
// of the last line that it goes on to.
struct Directive {
  std::string_view word, rest;
};
std::vector<Directive> directives(std::string_view bare);

// Whether that can be the name of a header, a device header's or a caller's own: folders of
// letters, digits and underscores, and a file NAME.h.
bool is_header_name(std::string_view name);

struct Include {
  std::string header;  // "diecast/device/base/simt.h"
  std::string where;   // "my_kernel.cu:7"; empty: of every template
};

struct Inlined {
  std::string text;               // #include and #pragma once blanked, line ends as "\n"
  std::vector<Include> includes;  // in order
};
// `file` and `first_line` go into errors: parse_error for an include of what can name no header.
Result<Inlined> take_includes(std::string_view code, std::string_view file, int first_line);

}  // namespace diecast
