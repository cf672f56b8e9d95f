// Which kernels a prepared quantize_nvfp4 holds: how fast a matrix is depends on whether all of it
// is on the GPU at once, so there is one for any number of elements and others for few.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/ops/prepared.h>
#include <diecast/ops/quantize_nvfp4.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diecast {

struct QuantizeNvfp4Kernels {
  std::vector<KernelWanted> all;   // for many elements, then, if there are such, for few, for some
  std::int64_t few = 0, some = 0;  // elements from which on it is not that kernel any more
  // The same where the device counts the rows, which not every kernel takes: which of `all`.
  std::size_t counted_kernel = 0;
  std::int64_t counted = 0;
};

// `finds_rows`: rows find their own amax.
QuantizeNvfp4Kernels quantize_nvfp4_kernels(const PreparedQuantizeNvfp4::Request& request,
                                            bool finds_rows, const DeviceProperties& device);

}  // namespace diecast
