// Regular expressions of Python, by which compressed-tensors names modules, as POSIX writes them.
// POSIX has no search that takes longer than the text times the expression.
#pragma once

#include <diecast/base/error.h>

#include <string>
#include <string_view>

namespace diecast {

// An extended expression that matches the same ASCII text. Errors: not_supported (one that Python
// refuses; lookaround, flags, references back, numeric escapes; more than 1000 characters or
// repetitions).
Result<std::string> posix_expression(std::string_view python);

}  // namespace diecast
