// Manifests: what ahead-of-time warming builds. One spelling a line, whose values may be lists or
// `*` (every value the template allows); `#` starts a comment.
//
//   quantize_nvfp4 IN=bf16,f16 COLS=0,4096 ROWS=* @ sm_90a sm_100f
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/runtime.h>

#include <span>
#include <string_view>
#include <vector>

namespace diecast {

// The specializations of a manifest, each once, in order; where a line leaves tunes out, also with
// those that tuning records choose. `targets`, when not empty, stand in for the lines' own, and a
// line needs none then. Combinations that break a `require` are left out. A line of which nothing
// is left is an error, unless it is possible for its own targets and only not for `targets`: it is
// then left out. Errors carry "file:line".
Result<std::vector<Specialization>> expand_manifest(Runtime& runtime, std::string_view text,
                                                    std::string_view file,
                                                    std::span<const Target> targets);

// One line of it; `where` goes into errors.
Result<std::vector<Specialization>> expand_spelling(Runtime& runtime, std::string_view line,
                                                    std::string_view where,
                                                    std::span<const Target> targets);

}  // namespace diecast
