// What `compile` and `warm` print of the artifacts they made or found.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/warm.h>
#include <diecast/template/target.h>

#include <span>
#include <string>
#include <vector>

namespace diecast::tool {

Result<std::vector<Target>> parse_targets(const std::vector<std::string>& words);

Result<void> wants_manifests(bool named);  // a word of check_words

// Every specialization that the files name, each once.
Result<std::vector<Specialization>> read_manifests(Runtime& runtime,
                                                   const std::vector<std::string>& paths,
                                                   std::span<const Target> targets);

// warm(), with a progress bar of this title unless `quiet`; `jobs` as WarmOptions has them.
std::vector<WarmOutcome> warm_with_progress(Runtime& runtime,
                                            std::span<const Specialization> wanted, int jobs,
                                            std::string title, bool quiet);

// A line for each artifact; or JSON: an object for each, one for each failure, and all that the
// runtime has counted.
void print_outcomes(const Runtime& runtime, std::span<const WarmOutcome> outcomes, bool json);

// What the compiler said of a kernel: how many warnings, then their text. `kernels`: of how many it
// said the same.
void print_log(const Artifact& artifact, std::size_t kernels);

// Each error once, with the kernels that it kept: one compiler may be missing for all of them.
void tell_errors(std::span<const WarmOutcome> outcomes);

// A line for each target: how many, cubin bytes, registers, spills, compile time.
void print_by_target(std::span<const WarmOutcome> outcomes);

}  // namespace diecast::tool
