// The functions of diecast/device/math over a matrix, beside CUDA's own.
#include <diecast/base/text.h>

#include "bench/accesses.h"
#include "bench/gpu.h"
#include "bench/named_arguments.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kSide = 8192;
constexpr double kOfCuda = 1.1;  // the most that a function may take of the time of CUDA's own

Result<GpuBench::Call> call_of(GpuBench& bench, const std::vector<Tensor>& out,
                               const std::shared_ptr<const Template>& tmpl,
                               const std::string& function, const char* by) {
  const Bindings bindings = Bindings().set("F", function).set("BY", by);
  DIECAST_TRY(const auto one,
              Specialization::make(tmpl, bindings, bench.device()->targets().front()));
  DIECAST_TRY(const auto kernel, bench.runtime().preload(one, bench.device()));
  std::vector<std::vector<KernelArgument>> arguments;
  for (std::size_t set = 0; set < kGpuSets; ++set)
    arguments.push_back(arguments_by_name(one, {{"x", bench.x(set).data}, {"y", out[set].data}},
                                          {{"count", kSide * kSide}}));
  return GpuBench::Call([kernel, arguments, stream = bench.stream()](std::size_t set) {
    return kernel->launch(arguments[set], stream);
  });
}

Result<void> measure(GpuBench& bench, const std::vector<Tensor>& out,
                     const std::shared_ptr<const Template>& tmpl, const std::string& function) {
  for (const char* by : {"math", "fast"}) {
    DIECAST_TRY(const auto theirs, call_of(bench, out, tmpl, function, "cuda"));
    DIECAST_TRY(const auto ours, call_of(bench, out, tmpl, function, by));
    const bool exact = by == std::string_view("math");
    DIECAST_CHECK(bench.against(cat(exact ? "math::" : "math::fast_", function, " of bf16"),
                                "CUDA's own", exact ? kOfCuda : 0, theirs, ours));
  }
  return {};
}

}  // namespace

Result<Figures> bench_functions(Runtime& runtime) {
  DIECAST_TRY(const auto device, runtime.default_device());
  DIECAST_TRY(GpuBench bench, GpuBench::open(runtime, device, kSide, kSide));
  DIECAST_TRY(const std::vector<Tensor> out, bench.outputs());
  DIECAST_TRY(const auto tmpl, pattern_template("elementwise"));
  for (const Value& function : tmpl->parameter("F")->allowed)
    DIECAST_CHECK(measure(bench, out, tmpl, function.spelling()));
  return std::move(bench.figures);
}

}  // namespace diecast::tool
