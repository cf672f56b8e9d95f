// What the driver says of a GPU.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

namespace diecast {

// Of `device`, which is the driver's `ordinal`-th. Errors: driver_error.
Result<DeviceProperties> properties_of(const Driver& driver, cuda::Device device, int ordinal);

}  // namespace diecast
