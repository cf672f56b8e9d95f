// Maxima that many blocks of threads find together begin at 0.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/ops/prepared.h>

#include <cstdint>
#include <vector>

namespace diecast {

// `wanted` for a device, and on a GPU the kernel `zeros` behind it: where launches are dependent it
// is over before the driver's fill would begin, and it writes to several allocations that touch,
// which the driver refuses to fill at once. The host's fill is better than a kernel.
void add_zeros(std::vector<KernelWanted>& wanted, const Device* device);

// `count` values become 0: by that kernel, or without one by the device's fill. Errors: those of
// Kernel::launch and Device::fill.
Result<void> write_zeros(const Kernel* zeros, Device& device, float* values, std::int64_t count,
                         Stream stream);

}  // namespace diecast
