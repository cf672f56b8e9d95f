// This machine's processor as a device: the same templates, compiled for `host`, run block by block
// on a pool of threads before the launch returns.
#pragma once

#include <memory>

#include <diecast/launch/device.h>

namespace diecast {

struct HostDeviceOptions {
  int threads = 0;     // worker threads; 0 = one a core (DIECAST_HOST_THREADS overrides)
  int host_level = 0;  // 0 = the best this processor has; 1 = baseline; 3 = AVX2
  static HostDeviceOptions from_environment();
};

// Errors: not_supported when the library was built without the host device, naming the package.
Result<std::shared_ptr<Device>> open_host_device(const HostDeviceOptions& options);

}  // namespace diecast
