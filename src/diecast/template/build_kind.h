// What a kernel is built for besides running. It is part of the key: code for debugging never
// stands in for plain code.
#pragma once

#include <diecast/base/error.h>

#include <cstdint>
#include <string_view>

namespace diecast {

// DIECAST_BUILD: plain, lines or debug.
enum class BuildKind : std::uint8_t {
  plain,
  lines,  // the same code, and for profilers and debuggers the template's lines that it comes from
  debug   // lines, and what is accessed through a tensor argument is checked
};
std::string_view build_kind_word(BuildKind build);
// Errors: invalid_argument.
Result<BuildKind> parse_build_kind(std::string_view word);

}  // namespace diecast
