// One configuration measured in a process of its own (RuntimeOptions::isolated): one that hangs or
// takes the context with it costs that process.
#pragma once

#include <diecast/runtime/compilers.h>
#include <diecast/runtime/tuner.h>

namespace diecast {

// Runs `isolated.program` of the runtime's options, whose template folder, cache and compiler it is
// given, on the same device. `asked`: kernel, device, sizes and tunes; the answer has its outcome.
// Errors: what keeps the default configuration from running there, process_failed.
Result<TuningRecord> measure_isolated(Compilers& compilers, const RuntimeOptions& options,
                                      const TuningRecord& asked, const Target& target,
                                      const DeviceProperties& device, const TuneRequest& request);

}  // namespace diecast
