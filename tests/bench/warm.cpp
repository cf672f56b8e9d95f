// Warming on one core and on two, and how soon a process with a warmed cache has its kernels.
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "bench/bench.h"
#include "bench/layers.h"

namespace diecast::tool {
namespace {

using Clock = std::chrono::steady_clock;

std::string many(int count, const Target& target, int first = 1) {
  std::string line = "amax IN=bf16 COLS=";
  for (int i = first; i < first + count; ++i) line += cat(i == first ? "" : ",", 16 * i);
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
std::vector<std::string> served_from(const std::string& cache) {
  std::vector<std::string> out = {"DIECAST_CACHE=" + cache, "DIECAST_CACHE_POLICY=require-hit"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("DIECAST_CACHE") && !text.starts_with("DIECAST_TRACE"))
      out.emplace_back(text);
  }
  return out;
}

Result<std::string> run_own(std::vector<std::string> arguments, const std::string& cache) {
  ProcessRequest process;
  process.arguments = {own_program()};
  for (std::string& argument : arguments) process.arguments.push_back(std::move(argument));
  process.environment = served_from(cache);
  DIECAST_TRY(ProcessResult result, run_process(process));
  if (result.exit_code == 0) return std::move(result.output);
  return Error{ErrorCode::process_failed, cat("a warmed process failed: ", result.errors),
               "run `diecast doctor`"};
}

// Runs `diecast-bench start` on a cache; the numbers that it printed.
Result<std::vector<double>> run_child(const std::string& cache, std::vector<std::string> arguments,
                                      std::size_t numbers) {
  arguments.insert(arguments.begin(), std::string(kBenchStart));
  DIECAST_TRY(const std::string output, run_own(std::move(arguments), cache));
  std::vector<double> out;
  for (const std::string_view word : words(output))
    out.push_back(std::strtod(std::string(word).c_str(), nullptr));
  if (out.size() == numbers) return out;
  return Error{ErrorCode::process_failed, "a warmed process said something else",
               "run `diecast doctor`"};
}

// Milliseconds from a process's start until it could launch, and parts of them.
struct Start {
  double whole = 0, context = 0, preload = 0;
};

Result<Start> start_process(const std::string& cache, const std::string& line) {
  const std::chrono::duration<double, std::milli> began = Clock::now().time_since_epoch();
  DIECAST_TRY(const auto said, run_child(cache, {line}, 3));
  return Start{said[0] - began.count(), said[1], said[2]};
}

// Milliseconds of a preload from a bundle and of bare loads, one behind the other in a process.
struct Loads {
  double preload = 0, bare = 0;
  double above() const { return preload - bare; }
};

Result<Loads> loads_of(const std::string& bundle, const std::string& line, const std::string& other,
                       bool bare_first) {
  std::vector<std::string> arguments = {line, "--bare", other};
  if (bare_first) arguments.push_back("--bare-first");
  DIECAST_TRY(const auto said, run_child("bundle:" + bundle, std::move(arguments), 2));
  return Loads{said[0], said[1]};
}

constexpr int kServed = 100;

Result<std::array<std::string, 2>> warm_twice_as_many(const std::string& root,
                                                      const Target& target) {
  const std::array<std::string, 2> lines = {many(kServed, target),
                                            many(kServed, target, kServed + 1)};
  DIECAST_TRY(const auto runtime, Runtime::create(in_root(root)));
  for (const std::string& line : lines) {
    DIECAST_TRY(const auto wanted, expand_spelling(*runtime, line, "bench", {}));
    for (const WarmOutcome& outcome : warm(*runtime, wanted, {})) {
      if (outcome.error) return *outcome.error;
    }
  }
  return lines;
}

// Starts of three kinds, in turns, because the machine's other work changes from second to second:
// of a serving process; of one that loads barely and then preloads; of one that does so the other
// way round, as what comes second takes longer. What is preloaded in one round is loaded barely in
// the next. Without a device the first kind alone.
struct Starts {
  static constexpr std::size_t kRounds = 20, kKinds = 3;
  std::vector<double> whole, context, ready;  // from a warmed root; ready: but for the context
  std::vector<double> preload;                // in these
  std::vector<double> bare;                   // the driver's loads, the first of a process
  std::vector<double> rest;                   // of ready what the round's bare loads are not
  std::vector<double> over;                   // a preload less bare loads, the mean of both orders

  Result<void> measure(const std::string& root, const std::string& bundle,
                       const std::array<std::string, 2>& lines, bool loads) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::string &line = lines[round % 2], &other = lines[(round + 1) % 2];
      Start start;
      Loads after_bare, before_bare;
      for (std::size_t turn = 0; turn < kKinds; ++turn) {
        const std::size_t kind = (round + turn) % kKinds;
        if (kind == 0) {
          DIECAST_TRY(start, start_process(root, line));
        }
        if (kind == 1 && loads) {
          DIECAST_TRY(after_bare, loads_of(bundle, line, other, true));
        }
        if (kind == 2 && loads) {
          DIECAST_TRY(before_bare, loads_of(bundle, line, other, false));
        }
      }
      whole.push_back(start.whole), context.push_back(start.context);
      ready.push_back(start.whole - start.context), preload.push_back(start.preload);
      bare.push_back(after_bare.bare), rest.push_back(ready.back() - after_bare.bare);
      over.push_back((after_bare.above() + before_bare.above()) / 2);
    }
    return {};
  }
};

// How soon a process serves, and what a preload is more than what the driver does in it.
Result<Figures> serving(Runtime& runtime) {
  const ScratchRoot root;
  const std::string bundle = root.path() + "/hundred.dcb";
  DIECAST_TRY(const Target target, served_target(runtime));
  DIECAST_TRY(const auto lines, warm_twice_as_many(root.path(), target));
  DIECAST_CHECK(run_own({"bundle", "export", "-o", bundle}, root.path()));
  const bool loads = runtime.default_device().ok();
  Starts starts;
  DIECAST_CHECK(starts.measure(root.path(), bundle, lines, loads));
  Figure start{"100 kernels from a warmed cache, require-hit: a start but for the driver's context",
               median(starts.ready),
               "ms",
               30,
               false,
               cat(target.name(), ", no GPU: nothing is loaded")};
  if (!loads) return Figures{start};
  start.detail =
      cat(target.name(), ": ", fixed(median(starts.whole), 1), " ms, the driver's context ",
          fixed(median(starts.context), 1), ", the preload ", fixed(median(starts.preload), 1),
          "; bare loads of as much code alone take ", fixed(median(starts.bare), 1), ", all else ",
          fixed(median(starts.rest), 1));
  return Figures{start,
                 {"preload of 100 kernels from a bundle: more than the driver's bare loads",
                  median(starts.over), "ms", 1, false,
                  cat("of ", fixed(median(starts.bare), 2), " ms; the middle half of ",
                      Starts::kRounds, " rounds: ", middle_half(starts.over, 2))}};
}

}  // namespace

Result<Figures> bench_warm(Runtime& runtime) {
  DIECAST_TRY(Figures figures, serving(runtime));
  if (std::thread::hardware_concurrency() >= 2) {
    DIECAST_TRY(figures.emplace_back(), warming());
    DIECAST_TRY(figures.emplace_back(), cold_linear_layers());
  }
  return figures;
}

}  // namespace diecast::tool
