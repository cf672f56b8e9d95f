// Kernels of quantize_nvfp4 for few elements: where all of a matrix is on the GPU at once, what a
// thread computes is a good part of the launch, so these are templates of their own. Which of their
// configurations serves how many elements is data: the library's bounds (cache/tuned/builtin.txt),
// and tuning records of the device, which win.
#pragma once

#include <diecast/ops/nvfp4/quantize_nvfp4_kernels.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace diecast {

using FewKernels = std::vector<QuantizeNvfp4Kernels::Few>;  // from the fewest elements on

// What the library's bounds choose of a template, for rows of `cols`. `options`: of the kernel; IN
// and, where the template has them, COLS and LAYOUT. Errors: those of find_template() and of
// built_in_bounds().
Result<FewKernels> few_by_bounds(Runtime& runtime, std::string_view name, const Bindings& options,
                                 std::int64_t cols, const DeviceProperties& device);

// Around the sizes that records of this device have of a template for few elements, from half the
// fewest elements to twice the most, the fastest configuration of the nearest size (in doublings)
// serves, or the kernel for any number of elements where its records have less time there;
// elsewhere what was there. Errors: those of Runtime::tuned_points().
Result<void> choose_by_records(Runtime& runtime, Device& device, QuantizeNvfp4Kernels& kernels);

// What choose_by_records() may take on any device that there are records of. Errors: those of
// Runtime::tuned_point_variants().
Result<std::vector<KernelWanted>> few_of_every_device(Runtime& runtime,
                                                      const QuantizeNvfp4Kernels& kernels,
                                                      const Target& target);

}  // namespace diecast
