// Tuning: each configuration that a template's header allows is run on a device, held against the
// default configuration to the bit, and timed. Serving never tunes: a runtime only reads what was
// measured (RuntimeOptions::tuning), and templates/README.md promises that no tune changes a
// result. Short launches take longer in a process of which two streams have launched kernels
// without programmatic dependent launch (templates/NOTES.md), as an engine's have. `diecast tune`
// makes itself such a process first; a program measures as the process that it is.
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

// A launch that has just been found equal to the default's, for a caller's further check.
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
  // Arguments in place of what the header alone would make: a scalar's value (of f32 else 1; of
  // other types there is none), indices, a structure. They are no part of a record.
  GivenArguments given;
  std::function<Result<void>(const TunedRun&)> check;  // an error: the configuration `differs`
  // Called with each as it comes; an error ends the tuning, and is its own.
  std::function<Result<void>(const TuningRecord&)> on_record;
  int samples = 15;
  std::vector<std::string>
      arguments;  // of an isolated process besides ours: "--add", "my_kernel.cu"
};

// One configuration at one size: run beside the default, compared, timed. Errors: what keeps the
// default configuration itself from running; a trouble of the configuration's own is its outcome.
Result<TuningRecord> tune_one(Runtime& runtime, const Specialization& specialization,
                              const RunSizes& sizes, const std::shared_ptr<Device>& device,
                              const TuneRequest& request);

// The subcommand that measures one configuration for a parent which outlives it.
inline constexpr std::string_view kTuneCommand = "tune-one";

}  // namespace diecast
