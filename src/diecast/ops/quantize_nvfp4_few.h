// Kernels of quantize_nvfp4 for few elements, by what was measured: where all of a matrix is on the
// GPU at once, what a thread computes is a good part of the launch. Of profile te without further
// options.
#pragma once

#include <diecast/ops/quantize_nvfp4_kernels.h>

#include <string_view>
#include <vector>

namespace diecast {

using FewKernels = std::vector<QuantizeNvfp4Kernels::Few>;  // from the fewest elements on

// Rows of a known length, dense or apart, that find their own amax; none where a cluster has not
// threads enough for one.
FewKernels few_that_find_rows(const PreparedQuantizeNvfp4::Request& request,
                              const DeviceProperties& device);
// Dense rows under a tensor's amax; with tiled scales of a known length.
FewKernels few_under_amax(const PreparedQuantizeNvfp4::Request& request,
                          const DeviceProperties& device);
// So few elements that one cluster finds the tensor's amax and quantizes before three launches
// would. Linear scales.
FewKernels few_that_find_amax(const PreparedQuantizeNvfp4::Request& request,
                              const DeviceProperties& device);

}  // namespace diecast
