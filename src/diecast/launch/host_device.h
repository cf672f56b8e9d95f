// This machine's processor as a device: the same templates, compiled for `host`, run block by block
// on a pool of threads before the launch returns.
#pragma once

#include <diecast/launch/device.h>

#include <memory>
#include <string>

namespace diecast {

struct HostDeviceOptions {
  int threads = 0;                 // run blocks, the launching one included; 0 = one a core
  int host_level = 0;              // 0 = the best this processor has; 1 = baseline; 3 = AVX2
  std::string wrong_threads = {};  // for the error: a DIECAST_HOST_THREADS that is no number
  // Reads DIECAST_HOST_THREADS. A text that is no number becomes -1, which open_host_device
  // refuses.
  static HostDeviceOptions from_environment();
};

// Opens this processor as a device. Every launch, copy and fill is done before its call returns;
// any number of threads may call at the same time. Streams are null. Memory is aligned to 256
// bytes. A kernel's thread has 64 KiB of stack where the threads of a block wait for one another.
// Errors: not_supported if the library was built without the host device, naming the package;
// invalid_argument; target_not_supported for a level that this processor lacks.
// Opened again with the same options while it is alive, it is the same device; a forked child opens
// its own. A runtime keeps the ops that it has prepared for a device, and the device with them.
Result<std::shared_ptr<Device>> open_host_device(
    const HostDeviceOptions& options = HostDeviceOptions::from_environment());

}  // namespace diecast
