// diecast-bench start SPELLING: what a serving process does before its first launch, for the bench
// (warm.cpp). Not for people. It prints when it was ready, and of that the milliseconds of
// the driver's context and of the preload; with --bare OTHER those of a preload and of the driver's
// bare loads of other code.
#include <diecast/base/text.h>
#include <diecast/launch/driver.h>
#include <diecast/runtime/manifest.h>
#include <diecast/tool/console.h>

#include <chrono>

#include "bench/bench.h"
#include "bench/commands.h"

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// When all kernels were resident, by the clock that all processes of a machine share, and what
// finding the device and making its context took.
Result<int> start(const std::string& spelling) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  const auto began = Clock::now();
  const auto device = runtime->default_device();
  if (device) DIECAST_CHECK((*device)->context_id());
  const Milliseconds driver = Clock::now() - began;
  DIECAST_TRY(const auto wanted, expand_spelling(*runtime, spelling, "start", {}));
  const auto expanded = Clock::now();
  if (device) {
    DIECAST_CHECK(runtime->preload(wanted, *device));
  } else {
    for (const Specialization& one : wanted) DIECAST_CHECK(runtime->resolve(one));
  }
  const auto end = Clock::now();
  const Milliseconds ready = end.time_since_epoch(), preload = end - expanded;
  print(
      cat(fixed(ready.count(), 3), " ", fixed(driver.count(), 3), " ", fixed(preload.count(), 3)));
  return 0;
}

Result<void> load(const Driver& driver, const Artifact& artifact) {
  const auto step = [&](cuda::Result code, const char* function) -> Result<void> {
    if (code == cuda::success) return {};
    return driver.failure(code, function, cat("loading ", artifact.spelling));
  };
  cuda::LibraryHandle* library = nullptr;
  cuda::KernelHandle* kernel = nullptr;
  cuda::FunctionHandle* function = nullptr;
  DIECAST_CHECK(step(driver.cuLibraryLoadData(&library, artifact.payload.data(), nullptr, nullptr,
                                              0, nullptr, nullptr, 0),
                     "cuLibraryLoadData"));
  DIECAST_CHECK(step(driver.cuLibraryGetKernel(&kernel, library, artifact.symbol.c_str()),
                     "cuLibraryGetKernel"));
  DIECAST_CHECK(step(driver.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction"));
  if (!driver.cuFuncLoad) return {};
  return step(driver.cuFuncLoad(function), "cuFuncLoad");
}

// Each in milliseconds, one behind the other in one process: what is loaded later takes longer,
// whoever loads it. Of the bare loads the code is in memory, and nothing of ours is between the
// calls; the preload has a runtime of its own, which knows nothing yet.
Result<int> beside(const std::string& spelling, const std::string& other, bool bare_first) {
  DIECAST_TRY(const auto reading, Runtime::create());
  DIECAST_TRY(const auto others, expand_spelling(*reading, other, "start", {}));
  std::vector<std::shared_ptr<const Artifact>> artifacts;
  for (const Specialization& one : others) {
    DIECAST_TRY(const Resolved resolved, reading->resolve(one));
    artifacts.push_back(resolved.artifact);
  }
  DIECAST_TRY(const auto runtime, Runtime::create());
  DIECAST_TRY(const auto wanted, expand_spelling(*runtime, spelling, "start", {}));
  DIECAST_TRY(const auto device, runtime->default_device());
  DIECAST_TRY(const auto driver, Driver::shared());
  Milliseconds preload{}, bare{};
  DIECAST_CHECK(device->in_context([&]() -> Result<void> {
    for (const bool turn : {bare_first, !bare_first}) {
      const auto began = Clock::now();
      if (turn) {
        for (const auto& artifact : artifacts) DIECAST_CHECK(load(*driver, *artifact));
      } else {
        DIECAST_CHECK(runtime->preload(wanted, device));
      }
      (turn ? bare : preload) = Clock::now() - began;
    }
    return {};
  }));
  print(cat(fixed(preload.count(), 3), " ", fixed(bare.count(), 3)));
  return 0;
}

}  // namespace

Command add_start(CLI::App& app) {
  struct Options {
    std::string spelling, bare;
    bool bare_first = false;
  };
  auto* command = app.add_subcommand(std::string(kBenchStart), "");
  command->group("");  // not in the help
  auto options = std::make_shared<Options>();
  command->add_option("spelling", options->spelling)->required();
  command->add_option("--bare", options->bare);
  command->add_flag("--bare-first", options->bare_first);
  return {command, [options] {
            return options->bare.empty()
                       ? start(options->spelling)
                       : beside(options->spelling, options->bare, options->bare_first);
          }};
}

}  // namespace diecast::tool
