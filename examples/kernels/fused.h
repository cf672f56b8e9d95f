// silu_and_mul_nvfp4 beside the two kernels that it fuses.
#pragma once

#include <diecast/diecast.h>

#include <cstdint>
#include <memory>

// How many bytes of codes and scales, padding included, are other than those that silu_and_mul and
// then quantize_nvfp4, profile te, make under the same amax: over several sizes and amaxes.
std::int64_t fused_differences(diecast::Runtime& runtime, const diecast::Kernel& fused,
                               const std::shared_ptr<diecast::Device>& device);
