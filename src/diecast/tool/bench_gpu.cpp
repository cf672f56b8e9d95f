// The ops on a GPU against a device-to-device copy that moves as many bytes, in the same run.
#include <diecast/base/text.h>
#include <diecast/ops/amax.h>
#include <diecast/ops/dequantize_nvfp4.h>
#include <diecast/ops/quantize_nvfp4.h>
#include <diecast/tool/bench.h>
#include <diecast/tool/bench_device.h>

#include <algorithm>

namespace diecast::tool {
namespace {

constexpr int kRepeats = 21;
constexpr std::int64_t kRows = 16384, kCols = 16384;

struct Timer {
  std::shared_ptr<Device> device;
  Stream stream;
  Event from, to;

  // The median time of one call in ms, by device events, after two calls that warm up.
  Result<double> time(const std::function<Result<void>()>& call) const {
    for (int i = 0; i < 2; ++i) DIECAST_CHECK(call());
    std::vector<double> times;
    for (int i = 0; i < kRepeats; ++i) {
      DIECAST_CHECK(device->record(from, stream));
      DIECAST_CHECK(call());
      DIECAST_CHECK(device->record(to, stream));
      DIECAST_TRY(times.emplace_back(), device->elapsed_ms(from, to));
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

// `bytes_an_element` counts what the op must read and write; the copy moves the same number.
Result<Figure> against_copy(const Timer& timer, const std::string& what, double bytes_an_element,
                            double bound, const std::function<Result<void>()>& call) {
  const auto moved = static_cast<std::size_t>(bytes_an_element * kRows * kCols);
  DIECAST_TRY(const BenchMemory a, BenchMemory::allocate(timer.device, moved / 2));
  DIECAST_TRY(const BenchMemory b, BenchMemory::allocate(timer.device, moved / 2));
  DIECAST_TRY(const double copy_ms, timer.time([&] {
    return timer.device->copy_on_device(a.data(), b.data(), moved / 2, timer.stream);
  }));
  DIECAST_TRY(const double ms, timer.time(call));
  const auto gigabytes = [&](double t) {
    return static_cast<int>(static_cast<double>(moved) / t / 1e6);
  };
  return Figure{
      what,
      100 * copy_ms / ms,
      "% of copy",
      bound,
      true,
      cat(gigabytes(ms), " GB/s against ", gigabytes(copy_ms), " GB/s, ", kRows, "x", kCols)};
}

Result<Figure> quantize(Runtime& runtime, const Timer& timer, bool row_scaled, bool amax_given,
                        double bound) {
  DIECAST_TRY(const BenchMatrix m, bench_matrix(timer.device, kRows, kCols, row_scaled, 1));
  PreparedQuantizeNvfp4::Request request;
  request.row_scaled = row_scaled;
  request.amax_given = amax_given;
  request.cols = kCols;
  DIECAST_TRY(const auto op, PreparedQuantizeNvfp4::prepare(runtime, timer.device, request));
  const float amax = 5.5f;
  if (amax_given) {
    DIECAST_CHECK(
        timer.device->copy_to_device(m.quantized.rowwise.amax, &amax, sizeof amax, timer.stream));
  }
  const char* kind = row_scaled ? "row-scaled" : amax_given ? "amax given" : "with tensor amax";
  return against_copy(timer, cat("quantize_nvfp4 bf16, ", kind),
                      row_scaled || amax_given ? 2.5625 : 4.5625, bound,
                      [&] { return op.run(m.x, m.quantized, timer.stream); });
}

Result<Figure> amax_alone(Runtime& runtime, const Timer& timer) {
  DIECAST_TRY(const BenchMatrix m, bench_matrix(timer.device, kRows, kCols, false, 1));
  DIECAST_TRY(const auto op, PreparedAmax::prepare(runtime, timer.device, {}));
  return against_copy(timer, "amax bf16", 2.0, 0,
                      [&] { return op.run(m.x, m.quantized.rowwise.amax, false, timer.stream); });
}

Result<Figure> dequantize(Runtime& runtime, const Timer& timer) {
  DIECAST_TRY(const BenchMatrix m, bench_matrix(timer.device, kRows, kCols, false, 1));
  DIECAST_TRY(const auto quantize, PreparedQuantizeNvfp4::prepare(runtime, timer.device, {}));
  DIECAST_CHECK(quantize.run(m.x, m.quantized, timer.stream));
  DIECAST_TRY(const auto op, PreparedDequantizeNvfp4::prepare(runtime, timer.device, {}));
  return against_copy(timer, "dequantize_nvfp4 to bf16", 2.5625, 0,
                      [&] { return op.run(m.quantized, m.x, timer.stream); });
}

}  // namespace

Result<Figures> bench_gpu(Runtime& runtime) {
  DIECAST_TRY(const auto device, runtime.default_device());
  DIECAST_TRY(const Stream stream, device->create_stream());
  DIECAST_TRY(const Event from, device->create_event());
  DIECAST_TRY(const Event to, device->create_event());
  const Timer timer{device, stream, from, to};
  Figures figures;
  DIECAST_TRY(figures.emplace_back(), quantize(runtime, timer, false, true, 85));
  DIECAST_TRY(figures.emplace_back(), quantize(runtime, timer, true, false, 0));
  DIECAST_TRY(figures.emplace_back(), quantize(runtime, timer, false, false, 0));
  DIECAST_TRY(figures.emplace_back(), amax_alone(runtime, timer));
  DIECAST_TRY(figures.emplace_back(), dequantize(runtime, timer));
  return figures;
}

}  // namespace diecast::tool
