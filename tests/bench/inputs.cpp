// diecast-bench inputs: what comes in otherwise than as a large bf16 matrix of an even shape: other
// element types beside bf16, and odd shapes beside the next larger even one.
#include <diecast/base/text.h>
#include <diecast/ops/mx/quantize_mx.h>
#include <diecast/ops/nvfp4/dequantize_nvfp4.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/tool/console.h>

#include <algorithm>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/graph.h"

namespace diecast::tool {
namespace {

constexpr double kLeastOfBf16 = 97;     // percent of bf16's share of a copy
constexpr double kMostOverEven = 1.15;  // times the next larger even shape
constexpr std::int64_t kEvenRows = 8, kEvenCols = 128;

std::int64_t next_multiple(std::int64_t value, std::int64_t of) {
  return (value + of - 1) / of * of;
}

Result<void> add_types(Runtime& runtime, const std::shared_ptr<Device>& device, BenchShape shape,
                       Figures& figures) {
  Figures of_bf16;
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    DIECAST_TRY(GpuBench bench, GpuBench::open(runtime, device, shape.rows, shape.cols, dtype));
    DIECAST_CHECK(add_gpu_inputs(bench));
    if (dtype == DType::bf16) {
      of_bf16 = bench.figures;
      continue;
    }
    for (std::size_t i = 0; i < of_bf16.size(); ++i) {
      const Figure& one = bench.figures[i];
      figures.push_back(
          {one.what, 100 * one.value / of_bf16[i].value, "% of bf16's share of a copy",
           kLeastOfBf16, true,
           cat(fixed(one.value, 1), " against ", fixed(of_bf16[i].value, 1), "; ", one.detail)});
    }
  }
  return {};
}

// The ops on one matrix as an engine without prepared ops calls them: they find out what is true of
// its rows by themselves.
struct Shaped {
  GpuBench bench;
  std::vector<QuantizedTensor> plain, by_rows, mx;
  std::vector<Tensor> back;
};
Result<Shaped> shaped(Runtime& runtime, const std::shared_ptr<Device>& device, BenchShape shape) {
  DIECAST_TRY(GpuBench bench, GpuBench::open(runtime, device, shape.rows, shape.cols));
  Shaped out{std::move(bench), {}, {}, {}, {}};
  DIECAST_TRY(out.plain, out.bench.quantized());
  DIECAST_TRY(out.by_rows, out.bench.quantized({.row_scaled = true}));
  DIECAST_TRY(out.mx, out.bench.quantized({.format = Format::mxfp8_e4m3}));
  DIECAST_TRY(out.back, out.bench.outputs());
  return out;
}

struct ShapedCall {
  const char* what;
  std::function<Result<void>(const Shaped&, std::size_t set, Stream)> run;
};
std::vector<ShapedCall> shaped_calls(Runtime& runtime, const std::shared_ptr<Device>& device) {
  QuantizeNvfp4Options given, found;
  given.device = found.device = device;
  given.amax_given = true;
  return {
      {"quantize_nvfp4 bf16, amax given",
       [&runtime, given](const Shaped& on, std::size_t set, Stream stream) {
         return quantize_nvfp4(runtime, on.bench.x(set), on.plain[set], given, stream);
       }},
      {"quantize_nvfp4 bf16, row-scaled",
       [&runtime, found](const Shaped& on, std::size_t set, Stream stream) {
         return quantize_nvfp4(runtime, on.bench.x(set), on.by_rows[set], found, stream);
       }},
      {"quantize_nvfp4 bf16, with tensor amax",
       [&runtime, found](const Shaped& on, std::size_t set, Stream stream) {
         return quantize_nvfp4(runtime, on.bench.x(set), on.plain[set], found, stream);
       }},
      {"quantize_mx bf16 to E4M3",
       [&runtime, device](const Shaped& on, std::size_t set, Stream stream) {
         return quantize_mx(runtime, on.bench.x(set), on.mx[set], {MxMode::rceil, device}, stream);
       }},
      {"dequantize_nvfp4 to bf16",
       [&runtime, device](const Shaped& on, std::size_t set, Stream stream) {
         return dequantize_nvfp4(runtime, on.plain[set], on.back[set],
                                 {GlobalForm::amax, device, false}, stream);
       }}};
}

Result<void> add_odd_shape(Runtime& runtime, const std::shared_ptr<Device>& device,
                           BenchShape shape, Figures& figures) {
  const BenchShape even{next_multiple(shape.rows, kEvenRows), next_multiple(shape.cols, kEvenCols)};
  DIECAST_TRY(const Shaped odd, shaped(runtime, device, shape));
  DIECAST_TRY(const Shaped whole, shaped(runtime, device, even));
  const Stream stream = odd.bench.stream();
  const double bytes = static_cast<double>(even.rows) * static_cast<double>(even.cols) * 4;
  const int calls = static_cast<int>(std::clamp(2e9 / bytes, 4.0, 100.0));
  const auto all = shaped_calls(runtime, device);
  DIECAST_TRY(GraphTimes times, GraphTimes::open(runtime, device, stream));
  for (const ShapedCall& call : all) {
    for (const Shaped* on : {&odd, &whole}) {
      DIECAST_CHECK(call.run(*on, 0, stream));  // prepared before it is captured
      DIECAST_CHECK(times.add(calls, [&](int i) {
        return call.run(*on, static_cast<std::size_t>(i) % kGpuSets, stream);
      }));
    }
  }
  DIECAST_TRY(const std::vector<double> us, times.measure());
  for (std::size_t i = 0; i < all.size(); ++i) {
    figures.push_back({cat(all[i].what, ", ", shape.rows, "x", shape.cols),
                       us[2 * i] / us[2 * i + 1], cat("x ", even.rows, "x", even.cols),
                       kMostOverEven, false,
                       cat(fixed(us[2 * i], 2), " us against ", fixed(us[2 * i + 1], 2))});
  }
  return {};
}

}  // namespace

Result<Figures> bench_inputs(Runtime& runtime, const std::vector<BenchShape>& typed,
                             const std::vector<BenchShape>& odd) {
  DIECAST_TRY(const auto device, runtime.default_device());
  Figures figures;
  for (const BenchShape shape : typed) DIECAST_CHECK(add_types(runtime, device, shape, figures));
  for (const BenchShape shape : odd) {
    DIECAST_CHECK(add_odd_shape(runtime, device, shape, figures));
  }
  return figures;
}

}  // namespace diecast::tool
