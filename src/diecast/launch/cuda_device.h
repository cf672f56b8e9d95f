// A CUDA GPU through the driver API. Uses the calling thread's current context when it is one of
// this device's; else the device's primary context, retained once and current for that call only.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

#include <memory>

namespace diecast {

// How many GPUs the driver shows; 0 where it finds none. Errors: driver_unavailable (no
// libcuda.so.1, a stub, too old: the numbers).
Result<int> cuda_device_count();
Result<int> cuda_device_count(const Driver& driver);

// Nothing is given back when the device goes: the primary context stays retained and loaded code
// stays loaded, because captured graphs may hold both and the driver does not say. Errors:
// driver_unavailable, no_device.
Result<std::shared_ptr<Device>> open_cuda_device(int ordinal);
Result<std::shared_ptr<Device>> open_cuda_device(std::shared_ptr<const Driver> driver, int ordinal);

// The device of the calling thread's current context; 0 when it has none. Errors:
// driver_unavailable.
Result<int> current_cuda_device();
Result<int> current_cuda_device(const Driver& driver);

}  // namespace diecast
