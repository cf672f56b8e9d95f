// A CUDA GPU through the driver API. It uses the calling thread's current context if that is one of
// this device; else the device's primary context, retained once and current for that call only.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

#include <memory>

namespace diecast {

// Counts the GPUs that the driver shows; 0 if it finds none. Errors: driver_unavailable (there is
// no libcuda.so.1, it is a stub, or it is too old: then with the versions).
Result<int> cuda_device_count();
Result<int> cuda_device_count(const Driver& driver);

// Opens a GPU; while it is open, the same device for everybody, whatever context is current (each
// call goes to the caller's). Nothing is given back when the device is destroyed: the primary
// context stays retained and loaded code stays loaded, because captured graphs may hold both and
// the driver does not say so. Errors: driver_unavailable, no_device.
Result<std::shared_ptr<Device>> open_cuda_device(int ordinal);
Result<std::shared_ptr<Device>> open_cuda_device(std::shared_ptr<const Driver> driver, int ordinal);

// Returns the ordinal of the device of the calling thread's current context; 0 if there is none.
// Errors: driver_unavailable.
Result<int> current_cuda_device();
Result<int> current_cuda_device(const Driver& driver);

}  // namespace diecast
