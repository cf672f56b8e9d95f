// diecast bench-start SPELLING: what a serving process does before its first launch, for the bench
// (bench_warm.cpp). Not for people. It prints when it was ready, and of that the milliseconds of
// the driver's context and of the preload; with --loads what the driver alone takes to load the
// same code.
#include <diecast/base/text.h>
#include <diecast/launch/driver.h>
#include <diecast/runtime/manifest.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

#include <chrono>

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
  DIECAST_TRY(const auto wanted, expand_spelling(*runtime, spelling, "bench-start", {}));
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

// Nothing of ours between the calls: the code is in memory and the context is made.
Result<int> loads(const std::string& spelling) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  DIECAST_TRY(const auto wanted, expand_spelling(*runtime, spelling, "bench-start", {}));
  std::vector<std::shared_ptr<const Artifact>> artifacts;
  for (const Specialization& one : wanted) {
    DIECAST_TRY(const Resolved resolved, runtime->resolve(one));
    artifacts.push_back(resolved.artifact);
  }
  DIECAST_TRY(const auto driver, Driver::shared());
  cuda::ContextHandle* context = nullptr;
  const cuda::Result retained = driver->cuDevicePrimaryCtxRetain(&context, 0);
  if (retained != cuda::success || driver->cuCtxPushCurrent(context) != cuda::success)
    return driver->failure(retained, "cuDevicePrimaryCtxRetain", "starting CUDA on device 0");
  const auto began = Clock::now();
  for (const auto& artifact : artifacts) DIECAST_CHECK(load(*driver, *artifact));
  const Milliseconds taken = Clock::now() - began;
  print(fixed(taken.count(), 3));
  return 0;
}

}  // namespace

Command add_bench_start(CLI::App& app) {
  struct Options {
    std::string spelling;
    bool loads = false;
  };
  auto* command = app.add_subcommand(std::string(kBenchStart), "");
  command->group("");  // not in the help
  auto options = std::make_shared<Options>();
  command->add_option("spelling", options->spelling)->required();
  command->add_flag("--loads", options->loads);
  return {command, [options] {
            return options->loads ? loads(options->spelling) : start(options->spelling);
          }};
}

}  // namespace diecast::tool
