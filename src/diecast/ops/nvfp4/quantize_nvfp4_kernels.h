// Which kernels a prepared quantize_nvfp4 holds: how fast a matrix is depends on whether all of it
// is on the GPU at once, so there is one for any number of elements and others for few.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_request.h>
#include <diecast/ops/prepared.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace diecast {

struct QuantizeNvfp4Kernels {
  // A kernel for less than so many elements.
  struct Few {
    std::int64_t below = 0;
    KernelWanted kernel;
  };
  KernelWanted any;            // for any number of elements
  std::vector<Few> few;        // for few, from the fewest on
  std::optional<Few> counted;  // in place of `few` where the device counts the rows
  // The kernels for less elements than these find the tensor's amax themselves.
  std::int64_t finds_amax = 0;
};

// Of a request along rows. Errors: those of few_by_bounds().
Result<QuantizeNvfp4Kernels> quantize_nvfp4_kernels(Runtime& runtime,
                                                    const QuantizeNvfp4Request& request,
                                                    const DeviceProperties& device);

}  // namespace diecast
