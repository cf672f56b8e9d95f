// The ops on this processor, one thread: megabytes of bf16 input a second and core.
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>

#include "bench/bench.h"
#include "bench/device.h"

namespace diecast::tool {
namespace {

constexpr std::int64_t kHostRows = 2048, kHostCols = 4096;

Result<Figure> quantize(Runtime& runtime, const std::shared_ptr<Device>& device, bool row_scaled,
                        bool amax_given, double bound) {
  DIECAST_TRY(const BenchMatrix m, bench_matrix(device, kHostRows, kHostCols, row_scaled, 1));
  PreparedQuantizeNvfp4::Request request;
  request.out.row_scaled = row_scaled;
  request.amax_given = amax_given;
  DIECAST_TRY(const auto op, PreparedQuantizeNvfp4::prepare(runtime, device, request));
  if (amax_given) {
    const float amax = 5.0f;
    DIECAST_CHECK(device->copy_to_device(m.quantized().rowwise.amax, &amax, sizeof amax, {}));
  }
  DIECAST_TRY(const double ms,
              median_ms(*device, {}, 7, [&] { return op.run(m.x, m.quantized(), {}); }));
  const char* what = row_scaled ? ", row-scaled" : amax_given ? ", amax given" : ", with amax";
  return Figure{cat("quantize_nvfp4 bf16 on host", what),
                static_cast<double>(kHostRows * kHostCols * 2) / ms / 1e3,
                "MB/s",
                bound,
                true,
                cat(device->targets().front().name(), ", one thread")};
}

}  // namespace

Result<Figures> bench_host(Runtime& runtime) {
  HostDeviceOptions one_thread;
  one_thread.threads = 1;
  DIECAST_TRY(const auto device, open_host_device(one_thread));
  const double bound = device->targets().front().host_level >= 3 ? 1000 : 500;  // with AVX2
  Figures figures;
  DIECAST_TRY(figures.emplace_back(), quantize(runtime, device, false, true, bound));
  DIECAST_TRY(figures.emplace_back(), quantize(runtime, device, false, false, bound));
  DIECAST_TRY(figures.emplace_back(), quantize(runtime, device, true, false, bound));
  return figures;
}

}  // namespace diecast::tool
