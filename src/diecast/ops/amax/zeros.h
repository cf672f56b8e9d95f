// Maxima that many thread blocks find together begin at 0.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/ops/prepared.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace diecast {

// A GPU writes zeros by a kernel: where launches are dependent it is over before the driver's fill
// would begin, and it writes to several allocations that touch, which the driver refuses to fill at
// once. The host's fill is better than a kernel.
inline bool has_zeros(const DeviceProperties& device) { return device.cc > 0; }
inline KernelWanted zeros_kernel() { return {"zeros", {}}; }

// An op's `own` kernel as preload_for() has it and, where zeros are `wanted`, the kernel that
// writes them; null on a device that has none.
Result<std::pair<std::shared_ptr<Kernel>, std::shared_ptr<Kernel>>> preload_with_zeros(
    Runtime& runtime, const std::shared_ptr<Device>& device, const KernelWanted& own, bool wanted);

// `count` values become 0: by that kernel, or without one by the device's fill. Errors: those of
// Kernel::launch and Device::fill.
Result<void> write_zeros(const Kernel* zeros, Device& device, float* values, std::int64_t count,
                         Stream stream);

}  // namespace diecast
