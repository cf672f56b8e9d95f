// Cold compiles beside an empty kernel's; see bench_cold.h.
#include <diecast/base/text.h>
#include <diecast/tool/bench_cold.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <ctime>

namespace diecast::tool {
namespace {

double processor_ms() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr std::size_t kPoints = 47;  // no multiple of what spaces are made of
constexpr std::size_t kSlowest = 3;
constexpr int kSlowestRepeats = 5;

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

Result<Figure> slowest_of_space(Runtime& runtime, const ColdCompiles& compiles,
                                const std::string& name) {
  struct Compiled {
    std::string spelling;
    Source source;
    ColdTime time;
  };
  DIECAST_TRY(const auto tmpl, runtime.find_template(name));
  DIECAST_TRY(const auto space, tmpl->space(compiles.target()));
  std::vector<Compiled> all;
  for (std::size_t i = 0; i < kPoints && i < space.size(); ++i) {
    const Bindings& point = space[space.size() <= kPoints ? i : i * space.size() / kPoints];
    DIECAST_TRY(const auto one, Specialization::make(tmpl, point, compiles.target()));
    Compiled& compiled = all.emplace_back();
    compiled.spelling = one.spelling();
    DIECAST_TRY(compiled.source, runtime.render(one));
    DIECAST_TRY(compiled.time, compiles.measure(compiled.source, 1));
  }
  const auto slower = [](const Compiled& a, const Compiled& b) {
    return a.time.ratio() > b.time.ratio();
  };
  std::sort(all.begin(), all.end(), slower);
  const std::size_t points = all.size();
  all.resize(std::min(points, kSlowest));
  for (Compiled& one : all) {
    DIECAST_TRY(one.time, compiles.measure(one.source, kSlowestRepeats));
  }
  std::sort(all.begin(), all.end(), slower);
  const Compiled& most = all.front();
  return Figure{cat("compile: ", name, ", the slowest of ", points),
                most.time.ratio(),
                "x empty",
                kAnyCompile,
                false,
                cat(fixed(most.time.ms, 1), " ms against ", fixed(most.time.empty_ms, 1),
                    " ms: ", most.spelling)};
}

}  // namespace diecast::tool
