// Options on a GPU against the op without them, turn by turn: another layout of scales, four over
// six, stochastic rounding, the random Hadamard transform.
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

#include "bench/gpu.h"

namespace diecast::tool {
namespace {

// quantize_nvfp4 under a given amax, to `out`; rounded stochastically where there is a state.
Result<GpuBench::Call> rowwise_call(GpuBench& bench, const std::vector<QuantizedTensor>& out,
                                    FourOverSix rule = FourOverSix::off,
                                    const std::int64_t* rng_state = nullptr) {
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = true;
  request.cols = bench.cols();
  request.out.layout = out.front().type.layout;
  request.four_over_six = rule;
  request.stochastic = rng_state != nullptr;
  DIECAST_TRY(auto op, PreparedQuantizeNvfp4::prepare(bench.runtime(), bench.device(), request));
  return GpuBench::Call([&bench, out, rng_state, op = std::move(op)](std::size_t set) {
    return op.run(bench.x(set), out[set], bench.stream(), {}, rng_state);
  });
}

// In device memory.
Result<const std::int64_t*> seed_and_offset(GpuBench& bench) {
  constexpr std::int64_t kState[] = {1234, 0};
  DIECAST_TRY(void* const state, bench.take(sizeof kState));
  DIECAST_CHECK(bench.device()->copy_to_device(state, kState, sizeof kState, bench.stream()));
  DIECAST_CHECK(bench.device()->synchronize(bench.stream()));
  return static_cast<const std::int64_t*>(state);
}

Result<GpuBench::Call> columnwise_call(GpuBench& bench, TransformedSides transformed) {
  DIECAST_TRY(auto out, bench.quantized({}, Sides::columnwise));
  PreparedQuantizeNvfp4::Request request;
  request.sides = Sides::columnwise;
  request.amax_given = true;
  request.rht = transformed;
  request.sign_mask = transformed == TransformedSides::none ? 0 : kHadamardSigns;
  DIECAST_TRY(auto op, PreparedQuantizeNvfp4::prepare(bench.runtime(), bench.device(), request));
  return GpuBench::Call([&bench, out = std::move(out), op = std::move(op)](std::size_t set) {
    return op.run(bench.x(set), out[set], bench.stream());
  });
}

}  // namespace

Result<void> add_gpu_options(GpuBench& bench) {
  DIECAST_TRY(const auto out, bench.quantized());
  DIECAST_TRY(const auto plain, rowwise_call(bench, out));
  DIECAST_TRY(const auto tiles, bench.quantized({.layout = ScaleLayout::s128x4}));
  DIECAST_TRY(const auto in_tiles, rowwise_call(bench, tiles));
  DIECAST_CHECK(bench.against("quantize_nvfp4 bf16, s128x4", "linear scales", 1.02, plain, in_tiles,
                              bench.quantizing(tiles)));
  for (const FourOverSix rule : {FourOverSix::mae, FourOverSix::mse}) {
    DIECAST_TRY(const auto both, rowwise_call(bench, out, rule));
    DIECAST_CHECK(bench.against("quantize_nvfp4 bf16, four over six by " + std::string(word(rule)),
                                "without", 2.0, plain, both));
  }
  DIECAST_TRY(const auto* const state, seed_and_offset(bench));
  DIECAST_TRY(const auto rounded, rowwise_call(bench, out, FourOverSix::off, state));
  DIECAST_CHECK(
      bench.against("quantize_nvfp4 bf16, stochastic rounding", "without", 1.5, plain, rounded));
  DIECAST_TRY(const auto columns, columnwise_call(bench, TransformedSides::none));
  DIECAST_TRY(const auto transformed, columnwise_call(bench, TransformedSides::columnwise));
  return bench.against("quantize_nvfp4_tiles bf16, columns, transformed", "without", 1.5, columns,
                       transformed);
}

}  // namespace diecast::tool
