// `linear` and `pack_linear` with NVFP4 weights and bf16 rows, in CUDA graphs whose calls take
// other weights in turn, beside the bytes that they must read and write at the rate of a
// device-to-device copy in the same run. python/linear_beside.py has bf16 by cuBLAS, and Humming.
#include "bench/dense.h"

#include <diecast/base/text.h>
#include <diecast/ops/linear/linear.h>
#include <diecast/ops/linear/pack_linear.h>
#include <diecast/tool/console.h>

#include "bench/device.h"
#include "bench/graph.h"
#include "bench/packed_sets.h"

namespace diecast::tool {
namespace {

constexpr BenchShape kShapes[] = {{4096, 4096}, {7168, 2048}, {28672, 8192}, {8192, 28672}};
constexpr std::int64_t kRows[] = {1, 16, 24, 32, 64, 128, 256, 512, 1024, 4096, 8192};
constexpr std::int64_t kMostEarly = 32;       // rows whose kernels fetch settled weights early
constexpr std::int64_t kFewestFast = 512;     // rows that a weight in parts may have in one
constexpr std::int64_t kMostByBytes = 64;     // rows that take as long as the weight's bytes
constexpr std::int64_t kLarge = 100'000'000;  // bytes of a weight whose share of a copy is promised
constexpr double kPackOfCopy = 80;            // percent

int calls_for(std::int64_t rows) { return rows <= 64 ? kFewCalls : rows <= 1024 ? 16 : 4; }

// Percent of a copy's rate, in bytes a microsecond, that a large weight must reach.
double bound_for(std::int64_t bytes, std::int64_t rows, double copy) {
  constexpr double kOfAnH200 = 3.5e6;  // whose memory is a third faster than an H100's
  if (bytes < kLarge) return 0;
  switch (rows) {
    case 1:
      return copy < kOfAnH200 ? 88 : 78;
    case 16:
      return copy < kOfAnH200 ? 85 : 78;
    case 32:
      return 80;
    case 64:
      return 72;
  }
  return 0;
}

// A weight's sets, where a copy of one goes, and a stream.
struct Dense {
  Runtime& runtime;
  const std::shared_ptr<Device>& device;
  Stream stream;
  const PackedSets& weights;
  void* copied;

  Result<void> add_copy(GraphTimes& times) const {
    return times.add(static_cast<int>(weights.sets), [this](int call) {
      return device->copy_on_device(copied, weights.set(call).data,
                                    static_cast<std::size_t>(weights.first.bytes), stream);
    });
  }
  // Bytes a microsecond of a copy that takes so many of them.
  double copy_rate(double us) const { return 2.0 * static_cast<double>(weights.first.bytes) / us; }
};

Figure figure_of(const Dense& of, std::int64_t rows, const std::vector<double>& us) {
  const PackedLinear& weight = of.weights.first;
  const double bytes =
      static_cast<double>(weight.bytes + 2 * rows * (weight.rows() + weight.cols()));
  const double copy = of.copy_rate(us[1]), tflops = 2e-6 *
                                                    static_cast<double>(rows * weight.rows()) *
                                                    static_cast<double>(weight.cols()) / us[0];
  const bool by_bytes = rows <= kMostByBytes;
  std::string detail = cat(fixed(us[0], 1), " us, ", fixed(bytes / us[0] / 1e6, 2), " TB/s of ",
                           fixed(bytes / 1e6, 1), " MB, a copy ", fixed(copy / 1e6, 2), "; ",
                           fixed(tflops, 0), " TFLOP/s");
  if (us.size() > 2)
    detail += cat(rows <= kMostEarly ? "; settled " : "; fast ", fixed(us[2], 1), " us");
  return {cat("linear, ", weight.rows(), "x", weight.cols(), ", M = ", rows),
          by_bytes ? 100 * bytes / us[0] / copy : tflops,
          by_bytes ? "% of copy" : "TFLOP/s",
          by_bytes ? bound_for(weight.bytes, rows, copy) : 0,
          true,
          detail};
}

Result<Figure> measure_rows(const Dense& of, std::int64_t rows) {
  const PackedLinear& weight = of.weights.first;
  DIECAST_TRY(const BenchMatrix x, bench_matrix(of.device, rows, weight.cols(), false, 1));
  DIECAST_TRY(const BenchMatrix out, bench_matrix(of.device, rows, weight.rows(), false, 2));
  DIECAST_TRY(const DeviceMemory factor,
              DeviceMemory::copy_of(of.device, std::vector<float>{0x1p-6f}, {}));
  DIECAST_CHECK(of.device->synchronize({}));
  DIECAST_TRY(GraphTimes times, GraphTimes::open(of.runtime, of.device, of.stream));
  const auto add = [&](const LinearOptions& options) -> Result<void> {
    DIECAST_TRY(const auto op,
                PreparedLinear::prepare(of.runtime, of.device,
                                        LinearRequest::of(x.x, weight, out.x, options)));
    return times.add(calls_for(rows), [&, op, options](int call) {
      return op.run(x.x, of.weights.set(call % of.weights.sets),
                    static_cast<const float*>(factor.data()), out.x, options, of.stream);
    });
  };
  DIECAST_CHECK(add({.device = of.device}));
  DIECAST_CHECK(of.add_copy(times));
  const bool early = rows <= kMostEarly,
             parted = rows >= kFewestFast && linear_split(weight.rows(), weight.cols()) > 1;
  if (early || parted) DIECAST_CHECK(add({.fast = parted, .settled = early, .device = of.device}));
  DIECAST_TRY(const std::vector<double> us, times.measure());
  return figure_of(of, rows, us);
}

// A checkpoint's weight into each set in turn. Apart: gate and up of two tensors.
Result<Figure> measure_pack(const Dense& of, bool apart) {
  PackedLinear to = of.weights.first;
  to.gated = apart ? Gated::halves : Gated::none;
  const std::int64_t elements = to.rows() * to.cols(), scales = elements / block_of(to.format);
  DIECAST_TRY(const DeviceMemory from,
              DeviceMemory::copy_of(of.device, drawn_bytes(elements / 2 + scales, 0x28, 0x48), {}));
  DIECAST_CHECK(of.device->synchronize({}));
  auto* const codes = static_cast<std::uint8_t*>(from.data());
  LinearWeight weight{.shape = to.shape, .codes = codes, .scales = codes + elements / 2};
  if (apart) {
    weight.up_codes = codes + elements / 4;
    weight.up_scales = codes + elements / 2 + scales / 2;
  }
  DIECAST_TRY(const auto op,
              PreparedPackLinear::prepare(of.runtime, of.device,
                                          PackLinearRequest::of(weight, to, nullptr)));
  DIECAST_TRY(GraphTimes times, GraphTimes::open(of.runtime, of.device, of.stream));
  DIECAST_CHECK(times.add(static_cast<int>(of.weights.sets), [&](int call) {
    to.data = of.weights.set(call).data;
    return op.run(weight, to, of.stream);
  }));
  DIECAST_CHECK(of.add_copy(times));
  DIECAST_TRY(const std::vector<double> us, times.measure());
  const double bytes = static_cast<double>(elements / 2 + scales + to.bytes);
  const double rate = bytes / us[0], copy = of.copy_rate(us[1]);
  return Figure{cat("pack_linear, ", to.rows(), "x", to.cols(), apart ? ", gate and up" : ""),
                100 * rate / copy,
                "% of copy",
                to.bytes < kLarge ? 0 : kPackOfCopy,
                true,
                cat(fixed(us[0], 1), " us, ", fixed(rate / 1e6, 2), " TB/s in and out, a copy ",
                    fixed(copy / 1e6, 2))};
}

}  // namespace

Result<void> add_dense(Runtime& runtime, const std::shared_ptr<Device>& device,
                       const std::vector<BenchShape>& shapes, Figures& figures) {
  std::vector<BenchShape> all = shapes;
  if (shapes.empty()) all.assign(std::begin(kShapes), std::end(kShapes));
  DIECAST_TRY(const Stream stream, device->create_stream());
  for (const BenchShape& shape : all) {
    DIECAST_TRY(const PackedSets weights,
                packed_sets(runtime, device, 0, shape.rows, shape.cols, Gated::none));
    DIECAST_TRY(const DeviceMemory copied,
                DeviceMemory::allocate(device, static_cast<std::size_t>(weights.first.bytes)));
    const Dense of{runtime, device, stream, weights, copied.data()};
    for (const std::int64_t rows : kRows) {
      DIECAST_TRY(figures.emplace_back(), measure_rows(of, rows));
    }
    for (const bool apart : {false, true}) {
      if (apart && shape.rows % 16 != 0) continue;  // no gate and up
      DIECAST_TRY(figures.emplace_back(), measure_pack(of, apart));
    }
  }
  return device->destroy_stream(stream);
}

}  // namespace diecast::tool
