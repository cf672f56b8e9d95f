// Opening devices; see devices.h.
#include <diecast/launch/cuda_device.h>
#include <diecast/runtime/devices.h>

#include <mutex>

namespace diecast {

Result<std::shared_ptr<Device>> Devices::current() {
  DIECAST_TRY(const int ordinal, current_cuda_device());
  const std::lock_guard lock(mutex_);
  if (const auto known = cuda_.find(ordinal); known != cuda_.end()) return known->second;
  DIECAST_TRY(auto device, open_cuda_device(ordinal));
  cuda_.emplace(ordinal, device);
  return device;
}

}  // namespace diecast
