// Manifests: what ahead-of-time warming builds. A line names kernels by a spelling, or an op by its
// name and the fields of its request. Values may be lists or `*` (every value that is allowed); `#`
// starts a comment.
//
//   quantize_nvfp4 IN=bf16,f16 COLS=0,4096 ROWS=* @ sm_90a sm_100f
//   op quantize_nvfp4 in=bf16 cols=4096 layout=linear,s128x4 @ sm_90a
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/runtime.h>

#include <span>
#include <string_view>
#include <vector>

namespace diecast {

// Expands one line; `where` ("file:line") goes into errors.
using ExpandLine = Result<std::vector<Specialization>> (*)(Runtime& runtime, std::string_view line,
                                                           std::string_view where,
                                                           std::span<const Target> targets);

// The specializations of a manifest, each once, in order; where a line leaves tunes out, also with
// those that tuning records choose. `targets`, when not empty, stand in for the lines' own, and a
// line needs none then. Combinations that break a `require` are left out. A line of which nothing
// is left is an error, unless it is possible for its own targets and only not for `targets`: it is
// then left out. `expand_op`: for lines that name an op; that of ops/expand_ops.h knows all of
// diecast's. Without it such a line is an error (not_supported). Errors carry "file:line".
Result<std::vector<Specialization>> expand_manifest(Runtime& runtime, std::string_view text,
                                                    std::string_view file,
                                                    std::span<const Target> targets,
                                                    ExpandLine expand_op = nullptr);

// A line that names kernels.
Result<std::vector<Specialization>> expand_spelling(Runtime& runtime, std::string_view line,
                                                    std::string_view where,
                                                    std::span<const Target> targets);

}  // namespace diecast
