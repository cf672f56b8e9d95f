// Packed weights for the bench: so many times that no cache holds them.
#pragma once

#include <diecast/launch/device_memory.h>
#include <diecast/ops/linear/packed_linear.h>
#include <diecast/runtime/runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace diecast::tool {

inline constexpr int kFewCalls = 48;  // of a graph of short calls

// They are one drawn weight again and again: what a launch takes depends on where bytes lie.
struct PackedSets {
  DeviceMemory memory = {};
  PackedLinear first = {};  // the first set
  std::int64_t sets = 0;

  PackedLinear set(std::int64_t which) const;
  // One weight of those of all sets, alone.
  PackedLinear one(std::int64_t which) const;
};

// Sets of weights [count, rows, cols], or, of none, of one weight [rows, cols].
Result<PackedSets> packed_sets(Runtime& runtime, const std::shared_ptr<Device>& device,
                               std::int64_t count, std::int64_t rows, std::int64_t cols,
                               Gated gated);

// A drawn stretch, repeated: drawing every byte would take longer than the measurement.
std::vector<std::uint8_t> drawn_bytes(std::int64_t count, std::uint32_t least, std::uint32_t most);

}  // namespace diecast::tool
