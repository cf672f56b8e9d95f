// Device memory that is freed with its last owner.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>

#include <memory>
#include <vector>

namespace diecast {

class DeviceMemory {
 public:
  DeviceMemory() = default;

  static Result<DeviceMemory> allocate(std::shared_ptr<Device> device, std::size_t bytes) {
    DIECAST_TRY(void* const memory, device->allocate(bytes));
    DeviceMemory out;
    // A failure to free leaves nothing to do: the device is gone, or the process is ending.
    out.memory_ =
        std::shared_ptr<void>(memory, [device](void* at) { (void)device->free(at).ok(); });
    return out;
  }
  // `values` stay as they are until the stream is synchronized.
  template <class T>
  static Result<DeviceMemory> copy_of(std::shared_ptr<Device> device, const std::vector<T>& values,
                                      Stream stream) {
    const std::size_t bytes = values.size() * sizeof(T);
    DIECAST_TRY(DeviceMemory out, allocate(device, bytes));
    if (bytes > 0) DIECAST_CHECK(device->copy_to_device(out.data(), values.data(), bytes, stream));
    return out;
  }
  void* data() const { return memory_.get(); }

 private:
  std::shared_ptr<void> memory_;
};

}  // namespace diecast
