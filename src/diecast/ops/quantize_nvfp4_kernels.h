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
  std::vector<KernelWanted> all;  // for any number of elements, then for few, from the fewest on
  // Of those for few: elements from which on it is not that kernel any more.
  std::vector<std::int64_t> below;
  // The same where the device counts the rows, which not every kernel takes: which of `all`.
  std::size_t counted_kernel = 0;
  std::int64_t counted = 0;
  // The kernels for less elements than these find the tensor's amax themselves.
  std::int64_t finds_amax = 0;
};

// `finds_rows`: rows find their own amax; `finds_amax`: the tensor's is to be found.
QuantizeNvfp4Kernels quantize_nvfp4_kernels(const PreparedQuantizeNvfp4::Request& request,
                                            bool finds_rows, bool finds_amax,
                                            const DeviceProperties& device);

}  // namespace diecast
