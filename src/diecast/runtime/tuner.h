// Tuning runs each configuration that a template's header allows on a device, compares it with the
// default configuration to the bit, and times it. (A tune that says `approx` may round sums in
// another order: see tuning/approx.h.) Serving never tunes: a runtime only reads what was measured
// (RuntimeOptions::tuning), and templates/README.md promises that no other tune changes a result.
// Short launches take longer in a process of which two streams have launched kernels without
// programmatic dependent launch (templates/NOTES.md), as an engine's have. `diecast tune` makes
// itself such a process first; a program measures as the process that it is.
#pragma once

#include <diecast/runtime/runtime.h>
#include <diecast/runtime/tuning/choice.h>
#include <diecast/runtime/tuning/given.h>
#include <diecast/runtime/tuning/record.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace diecast {

// A launch whose results are equal to the default's, for a further check by the caller.
struct TunedRun {
  const Specialization& specialization;  // with every tune, those of the launch too
  Device& device;
  std::span<const KernelArgument> arguments;  // device memory, as the launch has left it
};

struct TuneRequest {
  std::string name;
  Bindings bindings;                    // options and shapes; a tune given here is held
  std::vector<RunSizes> sizes;          // one measurement each
  std::span<const TuningRecord> known;  // measured before: these configurations are not run again
  // Arguments in place of those that the header alone would make: the value of a scalar (without it
  // f32 is 1, and other types have no value), indices, a structure. They are no part of a record.
  GivenArguments given;
  std::function<Result<void>(const TunedRun&)> check;  // an error: the configuration `differs`
  // Called with each record as it comes. An error ends the tuning, which returns it.
  std::function<Result<void>(const TuningRecord&)> on_record;
  int samples = 15;
  std::vector<std::string>
      arguments;  // of an isolated process besides ours: "--add", "my_kernel.cu"
};

// Measures one configuration at one size: runs it beside the default, compares and times it.
// Errors: whatever keeps the default configuration from running; if this configuration itself
// fails, that is its outcome.
Result<TuningRecord> tune_one(Runtime& runtime, const Specialization& specialization,
                              const RunSizes& sizes, const std::shared_ptr<Device>& device,
                              const TuneRequest& request);

// The subcommand that measures one configuration in a process that its parent outlives.
inline constexpr std::string_view kTuneCommand = "tune-one";

}  // namespace diecast
