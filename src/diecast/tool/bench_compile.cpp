// Cold compile times: every specialization's against an empty kernel's in the same process, so that
// the ratio says how much source we give the compiler and not how fast the machine is. The empty
// kernel is compiled as NVRTC does by itself, its own cache aside: what options win counts.
#include <diecast/base/text.h>
#include <diecast/compile/nvrtc_api.h>
#include <diecast/tool/bench.h>

#include <algorithm>
#include <ctime>
#include <limits>

namespace diecast::tool {
namespace {

// Compiles of one source, an empty kernel's before each, in the processor's time: what else a
// machine does meets both. The slowest few of a sweep are measured once more, for longer.
constexpr int kSweepRepeats = 2, kFinalRepeats = 9;
constexpr std::size_t kFinalists = 3;
// The host's compiler is a process of its own, of which the passing time is known: the least
// counts.
constexpr int kHostRepeats = 3;

double processor_ms() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The plain operations, whose compile time is bounded more tightly than that of the rest, in every
// class of rows, of a tensor and of rows, with their length open or fixed: the longest that threads
// hold in registers.
constexpr std::string_view kPlain[] = {"amax", "quantize_nvfp4", "quantize_nvfp4_row_scaled",
                                       "dequantize_nvfp4"};
constexpr std::int64_t kPlainCols[] = {0, 16384};
constexpr double kPlainBound = 4.0, kOtherBound = 10.0;

bool is_plain(std::string_view name) {
  return std::find(std::begin(kPlain), std::end(kPlain), name) != std::end(kPlain);
}

Result<void> compile_empty_kernel(const nvrtc::Api& nvrtc, const Target& target) {
  const std::string architecture = "--gpu-architecture=" + target.name();
  const char* options[] = {architecture.c_str(), "--no-cache"};
  const int count = nvrtc.major > 12 || nvrtc.minor >= 9 ? 2 : 1;  // before 12.9 it has no cache
  nvrtc::Program program = nullptr;
  const bool compiled =
      nvrtc.call.nvrtcCreateProgram(&program, "extern \"C\" __global__ void empty() {}\n",
                                    "empty.cu", 0, nullptr, nullptr) == nvrtc::kSuccess &&
      nvrtc.call.nvrtcCompileProgram(program, count, options) == nvrtc::kSuccess;
  if (program != nullptr) nvrtc.call.nvrtcDestroyProgram(&program);
  if (compiled) return {};
  return Error{ErrorCode::compile_failed, cat("NVRTC compiles no empty kernel for ", target.name()),
               "run diecast doctor"};
}

struct CompileTime {
  double ms = 0, empty_ms = 0;  // the mean of the repeats
  std::string spelling;
  Source source;

  double ratio() const { return ms / empty_ms; }
};

Result<void> measure(const nvrtc::Api& nvrtc, Compiler& compiler, const Target& target, int repeats,
                     CompileTime& time) {
  time.ms = time.empty_ms = 0;
  for (int i = 0; i < repeats; ++i) {
    const double start = processor_ms();
    DIECAST_CHECK(compile_empty_kernel(nvrtc, target));
    const double between = processor_ms();
    DIECAST_CHECK(compiler.compile(time.source, target));
    time.empty_ms += (between - start) / repeats;
    time.ms += (processor_ms() - between) / repeats;
  }
  return {};
}

bool is_default(const Parameter& p, const Bindings& bindings) {
  return !p.fallback || *bindings.find(p.name) == *p.fallback;
}

// Every element type of a template, of plain ones what else differs much in code.
Result<std::vector<Specialization>> samples_of(Runtime& runtime, const std::string& name,
                                               const Target& target) {
  DIECAST_TRY(const auto tmpl, runtime.find_template(name));
  DIECAST_TRY(const auto space, tmpl->space(target));
  std::vector<Specialization> samples;
  for (Bindings bindings : space) {
    bool wanted = true;
    for (const Parameter& p : tmpl->parameters()) {
      const bool varies = p.name == "ROWS" || p.name == "ROW_SCALE" || p.name == "PER";
      wanted = wanted && (is_default(p, bindings) || (is_plain(name) && varies));
    }
    if (!wanted) continue;
    for (const std::int64_t cols : kPlainCols) {
      if (cols != 0 && !is_plain(name)) continue;
      if (bindings.find("COLS") != nullptr) bindings.set("COLS", cols);
      DIECAST_TRY(samples.emplace_back(), Specialization::make(tmpl, bindings, target));
    }
  }
  return samples;
}

Result<Figure> slowest(Runtime& runtime, const nvrtc::Api& nvrtc, Compiler& compiler,
                       const Target& target, bool plain) {
  std::vector<CompileTime> times;
  for (const std::string& name : runtime.template_names()) {
    if (is_plain(name) != plain) continue;
    DIECAST_TRY(const auto samples, samples_of(runtime, name, target));
    for (const Specialization& one : samples) {
      CompileTime& time = times.emplace_back();
      time.spelling = one.spelling();
      DIECAST_TRY(time.source, runtime.render(one));
      DIECAST_CHECK(measure(nvrtc, compiler, target, kSweepRepeats, time));
    }
  }
  const auto slower = [](const CompileTime& a, const CompileTime& b) {
    return a.ratio() > b.ratio();
  };
  std::sort(times.begin(), times.end(), slower);
  times.resize(std::min(times.size(), kFinalists));
  for (CompileTime& time : times) {
    DIECAST_CHECK(measure(nvrtc, compiler, target, kFinalRepeats, time));
  }
  std::sort(times.begin(), times.end(), slower);
  const CompileTime& most = times.front();
  return Figure{cat("cold compile, ", plain ? "plain, " : "others, ", target.name()),
                most.ratio(),
                "x empty",
                plain ? kPlainBound : kOtherBound,
                false,
                cat("the slowest, ", static_cast<int>(most.ms), " ms against ",
                    static_cast<int>(most.empty_ms), " ms: ", most.spelling)};
}

Result<Figure> host_compile(Runtime& runtime) {
  DIECAST_TRY(const Target target, Target::parse("host"));
  DIECAST_TRY(const auto compiler, runtime.compiler(target));
  Figure figure{"cold compile, host", 0, "s", 0.5, false, ""};
  for (const std::string& name : runtime.template_names()) {
    DIECAST_TRY(const auto samples, samples_of(runtime, name, target));
    DIECAST_TRY(const Source source, runtime.render(samples.front()));
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kHostRepeats; ++i) {
      DIECAST_TRY(const Artifact artifact, compiler->compile(source, target));
      least = std::min(least, artifact.compile_ms / 1000);
    }
    if (least <= figure.value) continue;
    figure.value = least;
    figure.detail = cat("the slowest: ", samples.front().spelling());
  }
  return figure;
}

}  // namespace

Result<Figures> bench_compile(Runtime& runtime) {
  Figures figures;
  DIECAST_TRY(const nvrtc::Api nvrtc, nvrtc::find(NvrtcSearch::from_environment()));
  for (const char* name : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    DIECAST_TRY(const Target target, Target::parse(name));
    DIECAST_TRY(const auto compiler, runtime.compiler(target));
    if (!compiler->accepts(target)) continue;
    DIECAST_CHECK(compile_empty_kernel(nvrtc, target));  // the first time, NVRTC starts up
    for (const bool plain : {true, false}) {
      DIECAST_TRY(figures.emplace_back(), slowest(runtime, nvrtc, *compiler, target, plain));
    }
  }
  auto host = host_compile(runtime);
  if (host) figures.push_back(*std::move(host));
  return figures;
}

}  // namespace diecast::tool
