// Cold compiles beside an empty kernel's; see cold.h.
#include "bench/cold.h"

#include <diecast/base/side_by_side.h>
#include <diecast/base/text.h>
#include <diecast/runtime/compile_jobs.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <numeric>
#include <optional>
#include <thread>

namespace diecast::tool {
namespace {

// Of this thread: what others do meanwhile does not count.
double processor_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

constexpr std::size_t kPoints = 47;  // no multiple of what spaces are made of
constexpr std::size_t kSlowest = 3;
constexpr double kNear = 0.7;  // of a bound: one compile is no further off
constexpr int kRepeats = 5;

}  // namespace

bool is_plain(std::string_view name) {
  return std::find(std::begin(kPlainTemplates), std::end(kPlainTemplates), name) !=
         std::end(kPlainTemplates);
}

Result<ColdCompiles> ColdCompiles::open(Runtime& runtime, const Target& target) {
  DIECAST_TRY(nvrtc::Api nvrtc, nvrtc::find(NvrtcSearch::from_environment()));
  DIECAST_TRY(const auto compiler, runtime.compiler(target));
  DIECAST_CHECK(compiler->accepts(target));
  ColdCompiles out(target, std::move(nvrtc), compiler);
  DIECAST_CHECK(out.compile_empty_kernel());  // the first time, NVRTC starts up
  return out;
}

Result<void> ColdCompiles::compile_empty_kernel() const {
  const std::string architecture = "--gpu-architecture=" + target_.name();
  const char* options[] = {architecture.c_str(), "--no-cache"};
  const int count = nvrtc_.major > 12 || nvrtc_.minor >= 9 ? 2 : 1;  // before 12.9 it has no cache
  nvrtc::Program program = nullptr;
  const bool compiled =
      nvrtc_.call.nvrtcCreateProgram(&program, "extern \"C\" __global__ void empty() {}\n",
                                     "empty.cu", 0, nullptr, nullptr) == nvrtc::kSuccess &&
      nvrtc_.call.nvrtcCompileProgram(program, count, options) == nvrtc::kSuccess;
  if (program != nullptr) nvrtc_.call.nvrtcDestroyProgram(&program);
  if (compiled) return {};
  return Error{ErrorCode::compile_failed,
               cat("NVRTC compiles no empty kernel for ", target_.name()), "run diecast doctor"};
}

Result<ColdTime> ColdCompiles::measure(const Source& source, int repeats) const {
  constexpr double kLeast = 1e-3;  // below what the clock tells apart
  ColdTime time;
  for (int i = 0; i < repeats; ++i) {
    const double start = processor_ms();
    DIECAST_CHECK(compile_empty_kernel());
    const double between = processor_ms();
    DIECAST_CHECK(compiler_->compile(source, target_));
    time.empty_ms += (between - start) / repeats;
    time.ms += (processor_ms() - between) / repeats;
  }
  return ColdTime{std::max(time.ms, kLeast), std::max(time.empty_ms, kLeast)};
}

Result<ColdTime> ColdCompiles::measure_against(const Source& source, double bound) const {
  DIECAST_TRY(const ColdTime once, measure(source, 1));
  return once.ratio() < kNear * bound ? once : measure(source, kRepeats);
}

Result<std::vector<double>> ColdCompiles::sweep(const std::vector<Source>& sources) const {
  std::vector<double> ms(sources.size());
  std::vector<std::optional<Error>> errors(sources.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      const double start = processor_ms();
      const auto compiled = compiler_->compile(sources[i], target_);
      ms[i] = processor_ms() - start;
      if (!compiled) errors[i] = compiled.error();
    }
  };
  const std::size_t jobs =
      std::min(compile_jobs(std::thread::hardware_concurrency()), sources.size());
  run_side_by_side(jobs, work);
  for (const auto& error : errors) {
    if (error) return *error;
  }
  return ms;
}

Result<Figure> slowest_of_space(Runtime& runtime, const ColdCompiles& compiles,
                                const std::string& name) {
  DIECAST_TRY(const auto tmpl, runtime.find_template(name));
  DIECAST_TRY(const auto space, tmpl->space(compiles.target()));
  std::vector<std::string> spellings;
  std::vector<Source> sources;
  for (std::size_t i = 0; i < kPoints && i < space.size(); ++i) {
    const Bindings& point = space[space.size() <= kPoints ? i : i * space.size() / kPoints];
    DIECAST_TRY(const auto one, Specialization::make(tmpl, point, compiles.target()));
    spellings.push_back(one.spelling());
    DIECAST_TRY(sources.emplace_back(), runtime.render(one));
  }
  DIECAST_TRY(const std::vector<double> ms, compiles.sweep(sources));
  std::vector<std::size_t> slowest(sources.size());
  std::iota(slowest.begin(), slowest.end(), 0);
  std::sort(slowest.begin(), slowest.end(), [&](auto a, auto b) { return ms[a] > ms[b]; });
  slowest.resize(std::min(slowest.size(), kSlowest));
  Figure out{cat("compile: ", name, ", the slowest of ", sources.size()), 0, "x empty",
             kAnyCompile};
  for (const std::size_t i : slowest) {
    DIECAST_TRY(const ColdTime time, compiles.measure_against(sources[i], kAnyCompile));
    if (time.ratio() <= out.value) continue;
    out.value = time.ratio();
    out.detail =
        cat(fixed(time.ms, 1), " ms against ", fixed(time.empty_ms, 1), " ms: ", spellings[i]);
  }
  return out;
}

}  // namespace diecast::tool
