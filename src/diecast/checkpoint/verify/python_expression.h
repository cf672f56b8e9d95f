// Regular expressions of Python, by which compressed-tensors names modules, as POSIX writes them.
// POSIX has no search that takes longer than the text times the expression; so that reading one
// takes no longer either, repetitions in it are bounded.
#pragma once

#include <diecast/base/error.h>

#include <string>
#include <string_view>

namespace diecast {

// An extended expression that matches the same ASCII text. Errors: not_supported (one that Python
// refuses; lookaround, flags, references back, numeric escapes; more than 1000 characters or
// repetitions, or than 2000 characters with all repetitions written out; more than ten groups that
// repeat without end).
Result<std::string> posix_expression(std::string_view python);

}  // namespace diecast
