// Which kernels a prepared quantize_nvfp4 holds where tuning records of the device tell: those for
// few rows are of templates of their own, and which of them is fastest differs from machine to
// machine.
#pragma once

#include <diecast/ops/quantize_nvfp4_kernels.h>

namespace diecast {

// Around the sizes that records have of a template for few rows, from half the fewest elements to
// twice the most, the fastest configuration of the nearest one (in doublings) serves, or the kernel
// for any number of elements where its records have less at that size; elsewhere what was there.
// Errors: those of Runtime::tuned_points().
Result<void> choose_by_records(Runtime& runtime, Device& device, QuantizeNvfp4Kernels& kernels);

}  // namespace diecast
