// The arithmetic of convert() and check_vectors() on a device: the ops of floor 6, on device
// buffers that grow to the largest piece and are then used again.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/vectors.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>

#include <memory>

namespace diecast {

// Prepares nothing yet: an op is prepared when a piece first needs it. The functions of one result
// share their buffers: one call at a time.
ConvertKernels device_kernels(std::shared_ptr<Runtime> runtime, std::shared_ptr<Device> device,
                              const Nvfp4Scheme& scheme = {});
VectorKernels device_vector_kernels(std::shared_ptr<Runtime> runtime,
                                    std::shared_ptr<Device> device);

}  // namespace diecast
