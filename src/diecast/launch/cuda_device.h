// A CUDA GPU through the driver API. Uses the calling thread's current context when it is one of
// this device's; else the device's primary context, retained once.
#pragma once

#include <memory>
#include <vector>

#include <diecast/launch/device.h>

namespace diecast {

// Errors: driver_unavailable (no libcuda.so.1, a stub, too old: the numbers), no_device.
Result<int> cuda_device_count();
Result<std::shared_ptr<Device>> open_cuda_device(int ordinal);
// The device of the calling thread's current context; 0 when it has none.
Result<int> current_cuda_device();

}  // namespace diecast
