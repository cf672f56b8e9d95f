// diecast bench-start SPELLING: what a serving process does before its first launch, for the bench,
// which measures the whole process. Not for people: it prints the milliseconds that were the
// driver's own (finding the device, making its context).
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>

#include <chrono>

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

Result<int> start(const std::string& spelling) {
  DIECAST_TRY(const auto runtime, Runtime::create());
  const auto began = Clock::now();
  const auto device = runtime->default_device();
  if (device) DIECAST_CHECK((*device)->context_id());
  const std::chrono::duration<double, std::milli> driver = Clock::now() - began;
  DIECAST_TRY(const auto wanted, expand_spelling(*runtime, spelling, "bench-start", {}));
  for (const Specialization& one : wanted) {
    if (device) {
      DIECAST_CHECK(runtime->preload(one, *device));
    } else {
      DIECAST_CHECK(runtime->resolve(one));
    }
  }
  print(fixed(driver.count(), 3));
  return 0;
}

}  // namespace

Command add_bench_start(CLI::App& app) {
  auto* command = app.add_subcommand(std::string(kBenchStart), "");
  command->group("");  // not in the help
  auto spelling = std::make_shared<std::string>();
  command->add_option("spelling", *spelling)->required();
  return {command, [spelling] { return start(*spelling); }};
}

}  // namespace diecast::tool
