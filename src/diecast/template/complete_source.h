// A source is complete: its machine code follows from its text, which is what the cache's key
// holds. No spelling of it reads a file, and no word of it changes from run to run.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/source.h>

namespace diecast {

// Checks a text before it is compiled. Directives, pragmas and the words of `#if` are those of a
// list. (`asm` for the host is the host compiler's to refuse: only it knows which code is the
// host's.) Errors: parse_error under the template's own file and line.
Result<void> check_complete(const Source& source);

}  // namespace diecast
