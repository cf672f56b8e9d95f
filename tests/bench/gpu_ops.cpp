// The ops on a GPU against a copy: what each reads and writes of an element, and the share of the
// copy's rate that it must have.
#include <diecast/base/text.h>
#include <diecast/ops/amax/amax.h>
#include <diecast/ops/fake/fp4_fake_quant.h>
#include <diecast/ops/mx/quantize_mx.h>
#include <diecast/ops/nvfp4/dequantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

#include <utility>

#include "bench/gpu.h"

namespace diecast::tool {
namespace {

// Bytes an element: a bf16; half a byte of code and a sixteenth of a scale.
constexpr double kBf16Bytes = 2, kNvfp4Bytes = 0.5625, kMxfp8Bytes = 1.03125;

struct QuantizeKind {
  const char* what;
  bool row_scaled, amax_given;
  int readings;
  double bound;
};
constexpr QuantizeKind kQuantizeKinds[] = {{"amax given", false, true, 1, 96},
                                           {"row-scaled", true, false, 1, 93},
                                           {"with tensor amax", false, false, 2, 92}};

double element_bytes(const GpuBench& bench) { return dtype_bits(bench.dtype()) / 8.0; }

Result<void> quantize_row(GpuBench& bench, const QuantizeKind& kind, bool with_accesses) {
  PreparedQuantizeNvfp4::Request request;
  request.in = bench.dtype();
  request.out.row_scaled = kind.row_scaled;
  request.amax_given = kind.amax_given;
  request.cols = bench.cols();
  DIECAST_TRY(const auto out, bench.quantized(request.out));
  DIECAST_TRY(const auto op,
              PreparedQuantizeNvfp4::prepare(bench.runtime(), bench.device(), request));
  const bool one_pass = kind.amax_given;  // the others read or wait otherwise than a plain pass
  return bench.against_copy(
      cat("quantize_nvfp4 ", dtype_name(bench.dtype()), ", ", kind.what),
      kind.readings * element_bytes(bench) + kNvfp4Bytes, kind.bound,
      [&](std::size_t set) { return op.run(bench.x(set), out[set], bench.stream()); },
      one_pass && with_accesses ? bench.quantizing(out) : Accesses{});
}

Result<void> amax_row(GpuBench& bench, bool with_accesses) {
  DIECAST_TRY(void* const result, bench.take(4));
  PreparedAmax::Request request;
  request.in = bench.dtype();
  DIECAST_TRY(const auto op, PreparedAmax::prepare(bench.runtime(), bench.device(), request));
  Accesses accesses = bench.reading(32);
  for (std::size_t set = 0; set < kGpuSets && with_accesses; ++set) {
    accesses.of_set.push_back({bench.x(set).data, nullptr, result, nullptr});
  }
  return bench.against_copy(
      cat("amax ", dtype_name(bench.dtype())), element_bytes(bench), 95,
      [&](std::size_t set) {
        return op.run(bench.x(set), static_cast<float*>(result), false, bench.stream());
      },
      accesses);
}

Result<void> tiles_row(GpuBench& bench, const char* what, bool square, Sides sides, double bound) {
  PreparedQuantizeNvfp4::Request request;
  request.amax_given = true;
  request.sides = sides;
  request.out.square = square;
  DIECAST_TRY(const auto out, bench.quantized(request.out, sides));
  DIECAST_TRY(const auto op,
              PreparedQuantizeNvfp4::prepare(bench.runtime(), bench.device(), request));
  return bench.against_copy(
      what, kBf16Bytes + (sides == Sides::both ? 2 : 1) * kNvfp4Bytes, bound,
      [&](std::size_t set) { return op.run(bench.x(set), out[set], bench.stream()); },
      bench.quantizing(out));
}

Result<void> dequantize_row(GpuBench& bench) {
  DIECAST_TRY(const auto from, bench.quantized());
  DIECAST_TRY(const auto out, bench.outputs());
  PreparedQuantizeNvfp4::Request given;
  given.amax_given = true;
  DIECAST_TRY(const auto quantize,
              PreparedQuantizeNvfp4::prepare(bench.runtime(), bench.device(), given));
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    DIECAST_CHECK(quantize.run(bench.x(set), from[set], bench.stream()));
  }
  DIECAST_TRY(const auto op, PreparedDequantizeNvfp4::prepare(bench.runtime(), bench.device(), {}));
  // The same as quantizing, the other way round.
  Accesses accesses = bench.quantizing(from);
  std::swap(accesses.read, accesses.written);
  std::swap(accesses.reads_scales, accesses.writes_scales);
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    const QuantizedSide& side = from[set].rowwise;
    accesses.of_set[set] = {side.data, side.scale, out[set].data, nullptr};
  }
  return bench.against_copy(
      "dequantize_nvfp4 to bf16", kBf16Bytes + kNvfp4Bytes, 95,
      [&](std::size_t set) { return op.run(from[set], out[set], bench.stream()); }, accesses);
}

Result<void> fake_quant_row(GpuBench& bench) {
  DIECAST_TRY(const auto amax, bench.quantized());
  DIECAST_TRY(const auto out, bench.outputs());
  DIECAST_TRY(const auto op,
              PreparedFp4FakeQuantBlock::prepare(bench.runtime(), bench.device(), {}));
  Accesses accesses = bench.reading(32);
  accesses.written = accesses.read;
  for (std::size_t set = 0; set < kGpuSets; ++set) {
    accesses.of_set.push_back({bench.x(set).data, nullptr, out[set].data, nullptr});
  }
  return bench.against_copy(
      "fp4_fake_quant_block bf16", 2 * kBf16Bytes, 95,
      [&](std::size_t set) {
        return op.run(bench.x(set), amax[set].rowwise.amax, out[set], bench.stream());
      },
      accesses);
}

Result<void> mx_row(GpuBench& bench, const char* what, Sides sides, double bound) {
  PreparedQuantizeMx::Request request;
  request.sides = sides;
  DIECAST_TRY(const auto out, bench.quantized(request.out, sides));
  DIECAST_TRY(const auto op, PreparedQuantizeMx::prepare(bench.runtime(), bench.device(), request));
  return bench.against_copy(
      what, kBf16Bytes + (sides == Sides::both ? 2 : 1) * kMxfp8Bytes, bound,
      [&](std::size_t set) { return op.run(bench.x(set), out[set], bench.stream()); },
      sides == Sides::both ? Accesses{} : bench.quantizing(out));
}

}  // namespace

Result<void> add_gpu_ops(GpuBench& bench) {
  for (const QuantizeKind& kind : kQuantizeKinds) DIECAST_CHECK(quantize_row(bench, kind, true));
  DIECAST_CHECK(amax_row(bench, true));
  DIECAST_CHECK(
      tiles_row(bench, "quantize_nvfp4_tiles bf16, rows and columns", false, Sides::both, 88));
  DIECAST_CHECK(
      tiles_row(bench, "quantize_nvfp4_tiles bf16, 16x16 blocks, rows", true, Sides::rowwise, 93));
  DIECAST_CHECK(dequantize_row(bench));
  DIECAST_CHECK(fake_quant_row(bench));
  DIECAST_CHECK(mx_row(bench, "quantize_mx bf16 to E4M3", Sides::rowwise, 97));
  return mx_row(bench, "quantize_mx_tiles bf16 to E4M3, rows and columns", Sides::both, 0);
}

Result<void> add_gpu_inputs(GpuBench& bench) {
  for (const QuantizeKind& kind : kQuantizeKinds) DIECAST_CHECK(quantize_row(bench, kind, false));
  return amax_row(bench, false);
}

}  // namespace diecast::tool
