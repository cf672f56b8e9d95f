// Linear layers of a model, compiled; see layers.h.
#include "bench/layers.h"

#include <diecast/base/text.h>
#include <diecast/ops/linear/linear.h>
#include <diecast/runtime/warm.h>
#include <diecast/tool/command.h>

#include <algorithm>
#include <chrono>

namespace diecast::tool {
namespace {

constexpr double kSeconds = 60;
constexpr int kCores = 2;

struct Layer {
  std::int64_t rows, cols;
  Activation activation;
  Factors factors;
  bool residual;
};
// q, k and v; what follows attention; gate and up; down.
constexpr Layer kLayers[] = {{10240, 8192, Activation::none, Factors::parts, false},
                             {8192, 8192, Activation::none, Factors::one, true},
                             {57344, 8192, Activation::silu_and_mul, Factors::parts, false},
                             {8192, 28672, Activation::none, Factors::one, true}};

Result<std::vector<Specialization>> kernels_of_layers(Runtime& runtime) {
  DIECAST_TRY(const Target target, Target::parse("sm_90a"));
  DeviceProperties hopper;
  hopper.cc = target.cc;
  std::vector<Specialization> all;
  for (const Layer& layer : kLayers) {
    const LinearRequest request{.activation = layer.activation,
                                .split = linear_split(layer.rows, layer.cols),
                                .factors = layer.factors,
                                .residual = layer.residual};
    for (const KernelWanted& one : request.kernels(hopper)) {
      DIECAST_TRY(const auto tmpl, runtime.find_template(one.name));
      DIECAST_TRY(Specialization made,
                  Specialization::make(tmpl, bindings_for(*tmpl, one), target));
      const auto same = [&](const Specialization& other) {
        return other.spelling() == made.spelling();
      };
      if (std::ranges::none_of(all, same)) all.push_back(std::move(made));
    }
  }
  return all;
}

}  // namespace

Result<Figure> cold_linear_layers() {
  const ScratchRoot root;
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.cache = root.path();
  options.cache_policy = CachePolicy::automatic;
  options.trace.clear();
  options.isolated.program = own_program();
  DIECAST_TRY(const auto runtime, Runtime::create(options));
  DIECAST_TRY(const auto wanted, kernels_of_layers(*runtime));
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = warm(*runtime, wanted, {kCores, nullptr});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  for (const WarmOutcome& outcome : outcomes) {
    if (outcome.error) return *outcome.error;
  }
  return Figure{"the linear layers of a 70B model, cold, on two cores",
                took.count(),
                "s",
                kSeconds,
                false,
                cat(wanted.size(), " kernels")};
}

}  // namespace diecast::tool
