// Lines of a manifest that name an op. Such a line stands for every kernel that preparing the op
// can ask for:
//
//   op quantize_nvfp4 in=bf16 cols=4096,7168 layout=linear,s128x4 @ sm_90a sm_100a
//
// Its names are the fields of the op's request, in lower case; a field that is left out has its
// default. No device is needed: a kernel follows from the request and the target, and the number of
// multiprocessors only decides which of an op's kernels serves how many elements.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/manifest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// For expand_manifest(). Combinations that an op does not offer are left out; a line of which
// nothing is left is an error. Errors carry `where`: not_supported (no such op), unknown_parameter
// (no such field), value_not_allowed, value_missing (no target), constraint_violated, parse_error.
Result<std::vector<Specialization>> expand_op(Runtime& runtime, std::string_view line,
                                              std::string_view where,
                                              std::span<const Target> targets);

// The ops that a line may name.
std::vector<std::string> op_names();

}  // namespace diecast
