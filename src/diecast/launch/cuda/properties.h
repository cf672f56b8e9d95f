// A GPU of the driver, and what the driver says of it.
#pragma once

#include <diecast/launch/device.h>
#include <diecast/launch/driver.h>

namespace diecast {

// Of `device`, which is the driver's `ordinal`-th. Errors: driver_error.
Result<DeviceProperties> properties_of(const Driver& driver, cuda::Device device, int ordinal);

// Errors: no_device, naming how many there are; of the driver.
Result<cuda::Device> device_of(const Driver& driver, int ordinal);

}  // namespace diecast
