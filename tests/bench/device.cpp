// Matrices for the bench; see device.h.

#include "bench/device.h"

#include <algorithm>
#include <bit>
#include <random>

#include "bench/bench.h"

namespace diecast::tool {

Result<double> median_ms(Device& device, Stream stream, int repeats,
                         const std::function<Result<void>()>& call) {
  DIECAST_TRY(const Event from, device.create_event());
  DIECAST_TRY(const Event to, device.create_event());
  std::vector<double> ms;
  for (int i = -2; i < repeats; ++i) {
    DIECAST_CHECK(device.record(from, stream));
    DIECAST_CHECK(call());
    DIECAST_CHECK(device.record(to, stream));
    DIECAST_TRY(const double of_call, device.elapsed_ms(from, to));
    if (i >= 0) ms.push_back(of_call);
  }
  DIECAST_CHECK(device.destroy_event(from));
  DIECAST_CHECK(device.destroy_event(to));
  return median(std::move(ms));
}

Result<BenchMatrix> bench_matrix(const std::shared_ptr<Device>& device, std::int64_t rows,
                                 std::int64_t cols, bool row_scaled, std::uint64_t seed,
                                 ScaleLayout layout) {
  BenchMatrix m;
  DIECAST_TRY(m.memory, DeviceMemory::allocate(device, static_cast<std::size_t>(rows * cols * 2)));
  m.x = {m.memory.data(), DType::bf16, Shape{rows, cols}, 0, nullptr};
  const QuantizedType type{.layout = layout, .row_scaled = row_scaled};
  DIECAST_TRY(m.outputs, QuantizedBuffer::allocate(device, m.x.shape, type));

  // One random stretch, repeated: drawing every value would take longer than the measurement.
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  const std::int64_t total = rows * cols;
  std::vector<std::uint16_t> values(
      static_cast<std::size_t>(std::min<std::int64_t>(total, 1 << 20)));
  for (auto& value : values)  // cut off to bf16
    value = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
  for (std::int64_t at = 0; at < total; at += static_cast<std::int64_t>(values.size())) {
    const auto count = std::min<std::int64_t>(total - at, static_cast<std::int64_t>(values.size()));
    DIECAST_CHECK(device->copy_to_device(static_cast<std::uint16_t*>(m.x.data) + at, values.data(),
                                         static_cast<std::size_t>(count) * 2, {}));
  }
  DIECAST_CHECK(device->synchronize({}));
  return m;
}

}  // namespace diecast::tool
