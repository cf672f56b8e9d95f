// The arithmetic of convert() and check_vectors() on a device: the ops of floor 6, on device
// buffers that grow to the largest piece and are then used again.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/vectors.h>
#include <diecast/launch/device.h>
#include <diecast/runtime/runtime.h>

#include <cstddef>
#include <memory>

namespace diecast {

// Prepares nothing yet: an op is prepared when a piece first needs it. Calls at the same time have
// buffers and a stream each.
ConvertKernels device_kernels(std::shared_ptr<Runtime> runtime, std::shared_ptr<Device> device,
                              const Nvfp4Scheme& scheme = {});
// As many jobs of convert() as keep a device and the disks busy: on the host one a thread of the
// device, from 2 to 8, on a GPU 4.
std::size_t default_jobs(const Device& device);

VectorKernels device_vector_kernels(std::shared_ptr<Runtime> runtime,
                                    std::shared_ptr<Device> device);

}  // namespace diecast
