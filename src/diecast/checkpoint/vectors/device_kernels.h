// The part of VectorKernels that is not about NVFP4, on a device: MX formats and fake quantization.
#pragma once

#include <diecast/checkpoint/vectors.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>

#include <memory>

namespace diecast {

// Sets quantize_mx, fp4_scales and fake_quantize; they share their buffers: one call at a time.
void add_block_kernels(VectorKernels& kernels, const std::shared_ptr<Runtime>& runtime,
                       const std::shared_ptr<Device>& device);

}  // namespace diecast
