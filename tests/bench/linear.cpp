// Layers of experts on a GPU: linear_experts of NVFP4 weights and bf16 rows, by ids for few tokens
// and by offsets for many, in CUDA graphs whose calls take other weights in turn. Few tokens beside
// the bytes that they must read and write, at the rate of a device-to-device copy in the same run;
// many beside the products that `linear` makes with one expert's weight and as many rows.
#include <diecast/base/text.h>
#include <diecast/ops/linear/linear.h>
#include <diecast/ops/linear/linear_experts.h>
#include <diecast/tool/console.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/bench.h"
#include "bench/dense.h"
#include "bench/device.h"
#include "bench/graph.h"
#include "bench/packed_sets.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kTokens[] = {1, 16, 64, 1024, 4096};
constexpr std::int64_t kMostById = 64;  // tokens; of more the rows of an expert are together
constexpr int kManyCalls = 4;           // of a graph of long ones
constexpr double kOfDense = 85;         // percent that many tokens must reach

struct ExpertLayer {
  std::int64_t experts, topk, cols, depth;  // columns of out, of x
  bool gated = false;   // gate and up of a token's row; else the second product, a row a slot
  double at_least = 0;  // percent of a copy's rate, by id

  std::int64_t weight_rows() const { return gated ? 2 * cols : cols; }
  Activation activation() const { return gated ? Activation::silu_and_mul : Activation::none; }
};

constexpr ExpertLayer kLayers[] = {{128, 8, 768, 2048, true},
                                   {128, 8, 2048, 768},
                                   {8, 2, 14336, 4096, true},
                                   {8, 2, 4096, 14336},
                                   {256, 8, 7168, 2048, false, 75}};

// Experts dealt to slots as cards are, so that all have as many rows, a token's are different, and
// calls of few tokens take others one after another.
std::vector<std::int32_t> dealt_ids(const ExpertLayer& layer, std::int64_t slots) {
  std::vector<std::int32_t> deck(static_cast<std::size_t>(layer.experts)), out;
  std::iota(deck.begin(), deck.end(), 0);
  std::shuffle(deck.begin(), deck.end(), std::mt19937(1));
  for (std::int64_t i = 0; i < slots; ++i)
    out.push_back(deck[static_cast<std::size_t>(i % layer.experts)]);
  return out;
}

std::vector<std::int32_t> even_offsets(const ExpertLayer& layer, std::int64_t slots) {
  std::vector<std::int32_t> out;
  for (std::int64_t expert = 0; expert <= layer.experts; ++expert)
    out.push_back(static_cast<std::int32_t>(slots * expert / layer.experts));
  return out;
}

// A layer's calls with so many tokens.
struct ExpertCalls {
  const ExpertLayer& layer;
  const PackedSets& weights;
  std::int64_t tokens;
  BenchMatrix x = {}, out = {};
  DeviceMemory factors = {}, routing = {};

  bool by_id() const { return tokens <= kMostById; }
  int count() const { return by_id() ? kFewCalls : kManyCalls; }
  std::int64_t slots() const { return tokens * layer.topk; }
  std::int64_t x_rows() const { return by_id() && layer.gated ? tokens : slots(); }
  ExpertRouting routing_of(int call) const {
    const auto* const data = static_cast<const std::int32_t*>(routing.data());
    if (by_id()) return {RoutingForm::indexed, data + call * slots()};
    return {RoutingForm::contiguous, data};
  }
  // What a call must read and write.
  double bytes() const {
    const std::int64_t weights_read = std::min(layer.experts, slots());
    const std::int64_t indices = by_id() ? slots() : layer.experts + 1;
    return static_cast<double>(weights.first.bytes / layer.experts * weights_read +
                               2 * (x_rows() * layer.depth + slots() * layer.cols) + 4 * indices);
  }
  // Of all slots, or of so many.
  double operations(std::int64_t rows) const {
    return 2.0 * static_cast<double>(rows * layer.weight_rows() * layer.depth);
  }
  std::int64_t rows_of_expert() const { return std::max<std::int64_t>(slots() / layer.experts, 1); }
  std::string text() const {
    return cat("linear_experts, ", layer.topk, " of ", layer.experts, ", ", layer.depth, " to ",
               layer.cols, layer.gated ? " gated, M = " : ", M = ", tokens,
               by_id() ? " by id" : " by offset");
  }
};

Result<ExpertCalls> expert_calls(const std::shared_ptr<Device>& device, const ExpertLayer& layer,
                                 const PackedSets& weights, std::int64_t tokens) {
  ExpertCalls of{.layer = layer, .weights = weights, .tokens = tokens};
  DIECAST_TRY(of.x, bench_matrix(device, of.x_rows(), layer.depth, false, 1));
  DIECAST_TRY(of.out, bench_matrix(device, of.slots(), layer.cols, false, 2));
  const std::vector<float> factors(static_cast<std::size_t>(2 * layer.experts), 0x1p-6f);
  const auto routing =
      of.by_id() ? dealt_ids(layer, of.slots() * of.count()) : even_offsets(layer, of.slots());
  DIECAST_TRY(of.factors, DeviceMemory::copy_of(device, factors, {}));
  DIECAST_TRY(of.routing, DeviceMemory::copy_of(device, routing, {}));
  DIECAST_CHECK(device->synchronize({}));
  return of;
}

// `linear` with as many rows as an expert has.
Result<void> add_one_expert(Runtime& runtime, const std::shared_ptr<Device>& device, Stream stream,
                            const ExpertCalls& of, GraphTimes& times) {
  Tensor x = of.x.x, out = of.out.x;
  x.shape = Shape{of.rows_of_expert(), x.cols()}, out.shape = Shape{x.rows(), out.cols()};
  const LinearOptions options{.activation = of.layer.activation(), .device = device};
  const auto request = LinearRequest::of(x, of.weights.one(0), out, options);
  DIECAST_TRY(const auto op, PreparedLinear::prepare(runtime, device, request));
  return times.add(kFewCalls, [&](int call) {
    return op.run(x, of.weights.one(call), static_cast<const float*>(of.factors.data()), out,
                  options, stream);
  });
}

Figure figure_of(const ExpertCalls& of, double us, double us_beside) {
  const double rate = of.bytes() / us, speed = of.operations(of.slots()) / us / 1e6;
  const std::string took = cat(fixed(us, 1), " us, ", fixed(of.bytes() / 1e6, 1), " MB at ",
                               fixed(rate / 1e6, 2), " TB/s, ");
  const std::string made = cat(fixed(speed, 0), " TFLOP/s");
  if (!of.by_id()) {
    const double dense = of.operations(of.rows_of_expert()) / us_beside / 1e6;
    return {of.text(),
            100 * speed / dense,
            "% of dense",
            kOfDense,
            true,
            cat(took, made, ", linear of ", of.rows_of_expert(), " rows ", fixed(dense, 0))};
  }
  const double copy = 2.0 * static_cast<double>(of.weights.first.bytes) / us_beside;
  return {of.text(),   100 * rate / copy,
          "% of copy", of.layer.at_least,
          true,        cat(took, "a copy ", fixed(copy / 1e6, 2), "; ", made)};
}

// `copied`: where the first set goes.
Result<Figure> measure(Runtime& runtime, const std::shared_ptr<Device>& device, Stream stream,
                       const ExpertCalls& of, void* copied) {
  const LinearExpertsOptions options{.activation = of.layer.activation(), .device = device};
  const auto request =
      LinearExpertsRequest::of(of.x.x, of.weights.first, of.routing_of(0), of.out.x, options);
  DIECAST_TRY(const auto op, PreparedLinearExperts::prepare(runtime, device, request));
  DIECAST_TRY(GraphTimes times, GraphTimes::open(runtime, device, stream));
  DIECAST_CHECK(times.add(of.count(), [&](int call) {
    return op.run(of.x.x, of.weights.set(call % of.weights.sets),
                  static_cast<const float*>(of.factors.data()), of.routing_of(call), of.out.x,
                  options, stream);
  }));
  if (of.by_id()) {
    const auto bytes = static_cast<std::size_t>(of.weights.first.bytes);
    DIECAST_CHECK(times.add(static_cast<int>(of.weights.sets), [&](int call) {
      return device->copy_on_device(copied, of.weights.set(call).data, bytes, stream);
    }));
  } else {
    DIECAST_CHECK(add_one_expert(runtime, device, stream, of, times));
  }
  DIECAST_TRY(const std::vector<double> us, times.measure());
  return figure_of(of, us[0], us[1]);
}

Result<void> measure_layer(Runtime& runtime, const std::shared_ptr<Device>& device,
                           const ExpertLayer& layer, Figures& figures) {
  DIECAST_TRY(const PackedSets weights,
              packed_sets(runtime, device, layer.experts, layer.weight_rows(), layer.depth,
                          layer.gated ? Gated::halves : Gated::none));
  DIECAST_TRY(const DeviceMemory copied,
              DeviceMemory::allocate(device, static_cast<std::size_t>(weights.first.bytes)));
  DIECAST_TRY(const Stream stream, device->create_stream());
  for (const std::int64_t tokens : kTokens) {
    DIECAST_TRY(const ExpertCalls calls, expert_calls(device, layer, weights, tokens));
    DIECAST_TRY(figures.emplace_back(), measure(runtime, device, stream, calls, copied.data()));
  }
  return device->destroy_stream(stream);
}

}  // namespace

Result<Figures> bench_linear(Runtime& runtime, const std::vector<BenchShape>& shapes) {
  DIECAST_TRY(const auto device, runtime.default_device());
  std::vector<ExpertLayer> layers;
  for (const BenchShape& shape : shapes) layers.push_back({8, 2, shape.rows, shape.cols, true});
  if (shapes.empty()) layers.assign(std::begin(kLayers), std::end(kLayers));
  Figures figures;
  DIECAST_CHECK(add_dense(runtime, device, shapes, figures));
  for (const ExpertLayer& layer : layers)
    DIECAST_CHECK(measure_layer(runtime, device, layer, figures));
  return figures;
}

}  // namespace diecast::tool
