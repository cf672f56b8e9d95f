// What to write instead of a habit of CUDA's that compilers have no good word for.
#pragma once

#include <diecast/template/build_kind.h>
#include <diecast/template/target.h>

#include <string>
#include <string_view>

namespace diecast {

// The end of the fix of a source that a compiler rejected with this log; empty: none is known.
std::string hint_of(BuildKind build, const Target& target, std::string_view log);

}  // namespace diecast
