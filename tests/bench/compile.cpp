// Cold compile times: the slowest of each target's plain quantize_nvfp4, of its other plain kernels
// and of the others, and the host's.
#include <diecast/base/text.h>

#include <algorithm>
#include <limits>

#include "bench/bench.h"
#include "bench/cold.h"

namespace diecast::tool {
namespace {

// The slowest few of a sweep are measured once more, for longer.
constexpr int kSweepRepeats = 2, kFinalRepeats = 9;
constexpr std::size_t kFinalists = 3;
// The host's compiler is a process of its own, of which the passing time is known: the least
// counts.
constexpr int kHostRepeats = 3;

// The plain operations in every class of rows, of a tensor and of rows, with their length open or
// fixed: the longest that threads hold in registers.
constexpr std::int64_t kPlainCols[] = {0, 16384};

struct CompileTime {
  std::string spelling;
  Source source;
  ColdTime time;
};

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
      const Parameter* const length = tmpl->parameter("COLS");
      if (length != nullptr && length->fallback) bindings.set("COLS", cols);
      DIECAST_TRY(samples.emplace_back(), Specialization::make(tmpl, bindings, target));
    }
  }
  return samples;
}

// What reads FP8 decodes it in code of its own where the target has no instruction for it.
bool is_plain_cell(const Specialization& one) {
  const Value* const in = one.bindings().find("IN");
  return is_plain(one.tmpl().name()) && (in == nullptr || *in != Value::of(DType::e4m3));
}

// One row of the table.
struct Row {
  const char* what;
  double bound;
  bool plain;
  bool (*of)(std::string_view name);
};
bool is_quantize(std::string_view name) { return name == "quantize_nvfp4"; }
constexpr Row kRows[] = {
    {"plain quantize_nvfp4", kQuantizeCompile, true, is_quantize},
    {"other plain", kPlainCompile, true,
     [](auto name) { return is_plain(name) && !is_quantize(name); }},
    {"others", kAnyCompile, false, [](auto) { return true; }},
};

Result<Figure> slowest(Runtime& runtime, const ColdCompiles& compiles, const Row& row) {
  std::vector<CompileTime> times;
  for (const std::string& name : runtime.template_names()) {
    if (!row.of(name)) continue;
    DIECAST_TRY(const auto samples, samples_of(runtime, name, compiles.target()));
    for (const Specialization& one : samples) {
      if (is_plain_cell(one) != row.plain) continue;
      CompileTime& of = times.emplace_back();
      of.spelling = one.spelling();
      DIECAST_TRY(of.source, runtime.render(one));
      DIECAST_TRY(of.time, compiles.measure(of.source, kSweepRepeats));
    }
  }
  const auto slower = [](const CompileTime& a, const CompileTime& b) {
    return a.time.ratio() > b.time.ratio();
  };
  std::sort(times.begin(), times.end(), slower);
  times.resize(std::min(times.size(), kFinalists));
  for (CompileTime& of : times) {
    DIECAST_TRY(of.time, compiles.measure(of.source, kFinalRepeats));
  }
  std::sort(times.begin(), times.end(), slower);
  const CompileTime& most = times.front();
  return Figure{cat("cold compile, ", row.what, ", ", compiles.target().name()),
                most.time.ratio(),
                "x empty",
                row.bound,
                false,
                cat("the slowest, ", static_cast<int>(most.time.ms), " ms against ",
                    static_cast<int>(most.time.empty_ms), " ms: ", most.spelling)};
}

Result<Figure> host_compile(Runtime& runtime) {
  DIECAST_TRY(const Target target, Target::parse("host"));
  DIECAST_TRY(const auto compiler, runtime.compiler(target));
  Figure figure{"cold compile, host", 0, "s", 0.3, false, ""};
  for (const std::string& name : runtime.template_names()) {
    DIECAST_TRY(const auto samples, samples_of(runtime, name, target));
    if (samples.empty()) continue;  // it is for GPUs alone
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
  for (const char* name : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    DIECAST_TRY(const Target target, Target::parse(name));
    const auto compiles = ColdCompiles::open(runtime, target);
    if (!compiles && compiles.error().code == ErrorCode::target_not_supported) continue;
    if (!compiles) return compiles.error();
    for (const Row& row : kRows) {
      DIECAST_TRY(figures.emplace_back(), slowest(runtime, *compiles, row));
    }
  }
  auto host = host_compile(runtime);
  if (host) figures.push_back(*std::move(host));
  return figures;
}

}  // namespace diecast::tool
