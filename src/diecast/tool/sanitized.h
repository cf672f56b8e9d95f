// A run under AddressSanitizer: in a process of its own, since its library must come first in one.
#pragma once

#include <diecast/base/error.h>

#include <string>
#include <vector>

namespace diecast::tool {

// Runs this command again with these arguments, where the library of the host's C++ compiler finds
// what kernels that are built for it access outside of their buffers. Prints what it printed, and
// returns its exit code; 1 where the sanitizer ended it. Errors: compiler_unavailable, also where
// the compiler has no such library; those of run_process().
Result<int> run_sanitized(std::vector<std::string> arguments);

}  // namespace diecast::tool
