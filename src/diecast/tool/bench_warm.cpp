// Warming on one core and on two, and how soon a process with a warmed cache has its kernels.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

std::string many(int count, const Target& target) {
  std::string line = "amax IN=bf16 COLS=";
  for (int i = 1; i <= count; ++i) line += cat(i == 1 ? "" : ",", 16 * i);
  return line + " @ " + target.name();
}

// What the kernels are for here: the device, if there is one.
Result<Target> served_target(Runtime& runtime) {
  const auto device = runtime.default_device();
  if (!device) return Target::parse("sm_90a");
  DIECAST_TRY(const Specialization one,
              runtime.specialize_for("amax", {{"IN", Value::of(DType::bf16)}}, **device));
  return one.target();
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
  DIECAST_TRY(const auto wanted,
              expand_spelling(*runtime, many(200, Target::parse("sm_90a").value()), "bench", {}));
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
  return Figure{"warming 200 kernels: two cores against one",
                one / two,
                "x",
                1.6,
                true,
                cat(static_cast<int>(one * 1000), " and ", static_cast<int>(two * 1000), " ms")};
}

// This process's environment, but with a cache that must have everything.
std::vector<std::string> served_from(const std::string& root) {
  std::vector<std::string> out = {"DIECAST_CACHE=" + root, "DIECAST_CACHE_POLICY=require-hit"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("DIECAST_CACHE") && !text.starts_with("DIECAST_TRACE"))
      out.emplace_back(text);
  }
  return out;
}

// Runs the child; the numbers that it printed.
Result<std::vector<double>> run_child(const std::string& root, std::vector<std::string> arguments) {
  ProcessRequest process;
  process.arguments = {own_program(), std::string(kBenchStart)};
  for (std::string& argument : arguments) process.arguments.push_back(std::move(argument));
  process.environment = served_from(root);
  DIECAST_TRY(const ProcessResult result, run_process(process));
  if (result.exit_code != 0) {
    return Error{ErrorCode::process_failed, cat("a warmed process failed: ", result.errors),
                 "run `diecast doctor`"};
  }
  std::vector<double> numbers;
  for (const std::string_view word : words(result.output))
    numbers.push_back(std::strtod(std::string(word).c_str(), nullptr));
  return numbers;
}

// Milliseconds from a process's start until it could launch; the driver's share of them.
struct Start {
  double whole = 0, context = 0, loads = 0;
  double ours() const { return whole - context - loads; }
};

// The loads are timed in a process of its own: in one that has the code already they may be
// cheaper.
Result<Start> started(const std::string& root, const std::string& line, bool device) {
  Start out;
  const std::chrono::duration<double, std::milli> began = Clock::now().time_since_epoch();
  DIECAST_TRY(const auto ready, run_child(root, {line}));
  if (ready.size() != 2)
    return Error{ErrorCode::process_failed, "a warmed process said nothing",
                 "run `diecast doctor`"};
  out.whole = ready[0] - began.count();
  out.context = ready[1];
  if (!device) return out;
  DIECAST_TRY(const auto loads, run_child(root, {line, "--loads"}));
  if (!loads.empty()) out.loads = loads[0];
  return out;
}

std::string shares(const Start& start, const Target& target, bool device) {
  if (!device) return cat(target.name(), ", no GPU: nothing is loaded");
  return cat(target.name(), ": ", fixed(start.whole, 1), " ms, of which the driver's context ",
             fixed(start.context, 1), " and its bare loads of the same code ",
             fixed(start.loads, 1), "; with them ", fixed(start.whole - start.context, 1));
}

Result<Figure> start(Runtime& runtime) {
  const ScratchRoot root;
  DIECAST_TRY(const Target target, served_target(runtime));
  const std::string line = many(100, target);
  {
    DIECAST_TRY(const auto warming, Runtime::create(in_root(root.path())));
    DIECAST_TRY(const auto wanted, expand_spelling(*warming, line, "bench", {}));
    for (const WarmOutcome& outcome : warm(*warming, wanted, {})) {
      if (outcome.error) return *outcome.error;
    }
  }
  const bool device = runtime.default_device().ok();
  std::vector<Start> starts(5);
  for (Start& one : starts) {
    DIECAST_TRY(one, started(root.path(), line, device));
  }
  std::sort(starts.begin(), starts.end(),
            [](const Start& a, const Start& b) { return a.ours() < b.ours(); });
  const Start& middle = starts[2];
  return Figure{"100 kernels from a warmed cache, require-hit: ours of a process's start",
                middle.ours(),
                "ms",
                30,
                false,
                shares(middle, target, device)};
}

}  // namespace

Result<Figures> bench_warm(Runtime& runtime) {
  Figures figures;
  DIECAST_TRY(figures.emplace_back(), start(runtime));
  if (std::thread::hardware_concurrency() >= 2) {
    DIECAST_TRY(figures.emplace_back(), warming());
  }
  return figures;
}

}  // namespace diecast::tool
