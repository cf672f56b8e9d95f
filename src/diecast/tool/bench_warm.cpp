// Warming on one core and on two, and how soon a process with a warmed cache has its kernels.
#include <algorithm>
#include <chrono>
#include <thread>

#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/command.h>

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

std::string many(int from, int count) {
  std::string line = "amax IN=bf16 COLS=";
  for (int i = 0; i < count; ++i) line += cat(i == 0 ? "" : ",", 16 * (from + i));
  return line + " @ sm_90a";
}

RuntimeOptions in_root(const std::string& path) {
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.cache = path;
  options.cache_policy = CachePolicy::automatic;
  options.trace.clear();
  return options;
}

// Seconds to warm 200 kernels with so many jobs, each compiled in a process of its own.
Result<double> warmed(int jobs) {
  const ScratchRoot root;
  RuntimeOptions options = in_root(root.path());
  options.isolated.program = own_program();
  DIECAST_TRY(const auto runtime, Runtime::create(options));
  DIECAST_TRY(const auto wanted, expand_spelling(*runtime, many(1, 200), "bench", {}));
  const auto start = Clock::now();
  const auto outcomes = warm(*runtime, wanted, {jobs, nullptr});
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (const WarmOutcome& outcome : outcomes) {
    if (outcome.error) return *outcome.error;
  }
  return seconds;
}

Result<Figure> warming() {
  DIECAST_TRY(const double two, warmed(2));
  DIECAST_TRY(const double one, warmed(1));
  return Figure{"warming 200 kernels: two cores against one", one / two, "x", 1.6, true,
                cat(static_cast<int>(one * 1000), " and ", static_cast<int>(two * 1000), " ms")};
}

// All that a serving process does before its first launch, but for the driver's own work.
Result<Figure> start() {
  const ScratchRoot root;
  const std::string line = many(1, 100);
  {
    DIECAST_TRY(const auto runtime, Runtime::create(in_root(root.path())));
    DIECAST_TRY(const auto wanted, expand_spelling(*runtime, line, "bench", {}));
    for (const WarmOutcome& outcome : warm(*runtime, wanted, {})) {
      if (outcome.error) return *outcome.error;
    }
  }
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    RuntimeOptions options = in_root(root.path());
    options.cache_policy = CachePolicy::require_hit;
    const auto began = Clock::now();
    DIECAST_TRY(const auto runtime, Runtime::create(options));
    DIECAST_TRY(const auto wanted, expand_spelling(*runtime, line, "bench", {}));
    for (const Specialization& one : wanted) DIECAST_CHECK(runtime->resolve(one));
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  }
  std::sort(times.begin(), times.end());
  return Figure{"require-hit: 100 kernels found by a new runtime", times[2], "ms", 30, false,
                "without the driver's context"};
}

}  // namespace

Result<Figures> bench_warm(Runtime&) {
  Figures figures;
  DIECAST_TRY(figures.emplace_back(), start());
  if (std::thread::hardware_concurrency() >= 2) {
    DIECAST_TRY(figures.emplace_back(), warming());
  }
  return figures;
}

}  // namespace diecast::tool
