// Packed weights that rotate; see packed_sets.h.
#include "bench/packed_sets.h"

#include <diecast/ops/linear/pack_linear.h>

#include <algorithm>
#include <random>

namespace diecast::tool {
namespace {

constexpr std::int64_t kRotated = 300'000'000;  // bytes of weights that calls go through

// One weight, packed to where `to` says.
Result<void> pack_one(Runtime& runtime, const std::shared_ptr<Device>& device,
                      const PackedLinear& to) {
  const std::int64_t elements = to.rows() * to.cols();
  const auto codes = drawn_bytes(elements / 2, 0, 255);
  const auto scales = drawn_bytes(elements / 16, 0x28, 0x48);  // 0.25 to 4
  DIECAST_TRY(const DeviceMemory of_codes, DeviceMemory::copy_of(device, codes, {}));
  DIECAST_TRY(const DeviceMemory of_scales, DeviceMemory::copy_of(device, scales, {}));
  const LinearWeight one{
      .format = to.format, .shape = to.shape, .codes = of_codes.data(), .scales = of_scales.data()};
  DIECAST_CHECK(pack_linear(runtime, one, to, {.device = device}));
  return device->synchronize({});
}

}  // namespace

PackedLinear PackedSets::set(std::int64_t which) const {
  PackedLinear out = first;
  out.data = static_cast<std::uint8_t*>(out.data) + which * first.bytes;
  return out;
}

PackedLinear PackedSets::one(std::int64_t which) const {
  PackedLinear out = first;
  out.shape = Shape{first.rows(), first.cols()}, out.bytes = first.bytes / first.weights();
  out.data = static_cast<std::uint8_t*>(out.data) + which % (sets * first.weights()) * out.bytes;
  return out;
}

Result<PackedSets> packed_sets(Runtime& runtime, const std::shared_ptr<Device>& device,
                               std::int64_t count, std::int64_t rows, std::int64_t cols,
                               Gated gated) {
  const std::int64_t weights = std::max<std::int64_t>(count, 1);
  PackedLinear one{.gated = gated, .shape = Shape{rows, cols}};
  DIECAST_TRY(one.bytes, PackedLinear::bytes_for(one.format, one.shape));
  PackedSets out{.first = one};
  if (count > 0) out.first.shape = Shape{count, rows, cols};
  out.first.bytes *= weights;
  out.sets = std::min<std::int64_t>(1 + kRotated / out.first.bytes, kFewCalls);
  DIECAST_TRY(out.memory,
              DeviceMemory::allocate(device, static_cast<std::size_t>(out.sets * out.first.bytes)));
  one.data = out.first.data = out.memory.data();
  DIECAST_CHECK(pack_one(runtime, device, one));
  for (std::int64_t i = 1; i < out.sets * weights; ++i)
    DIECAST_CHECK(device->copy_on_device(static_cast<std::uint8_t*>(one.data) + i * one.bytes,
                                         one.data, static_cast<std::size_t>(one.bytes), {}));
  DIECAST_CHECK(device->synchronize({}));
  return out;
}

std::vector<std::uint8_t> drawn_bytes(std::int64_t count, std::uint32_t least, std::uint32_t most) {
  constexpr std::size_t kStretch = 1 << 20;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(count));
  std::mt19937 random(1);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = i < kStretch ? static_cast<std::uint8_t>(least + (random() >> 8) % (most - least + 1))
                          : out[i - kStretch];
  return out;
}

}  // namespace diecast::tool
