// Device memory for tests: filled with poison, surrounded by guard bytes that a check looks at.
#pragma once

#include <diecast/launch/argument.h>
#include <diecast/launch/device.h>

#include <cstdint>
#include <vector>

namespace diecast::variants {

class DeviceBuffer {
 public:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::uint8_t kPoison = 0xA5;

  // `shift`: how many bytes behind a multiple of kGuard it begins.
  DeviceBuffer(Device& device, std::size_t bytes, std::size_t shift = 0)
      : device_(&device), bytes_(bytes), before_(kGuard + shift) {
    memory_ = static_cast<std::uint8_t*>(device.allocate(before_ + bytes + kGuard).value());
    device.fill(memory_, kPoison, before_ + bytes + kGuard, {}).value();
    device.synchronize({}).value();
  }
  DeviceBuffer(Device& device, const void* data, std::size_t bytes) : DeviceBuffer(device, bytes) {
    device.copy_to_device(data_pointer(), data, bytes, {}).value();
    device.synchronize({}).value();
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (!device_->free(memory_)) std::terminate();
  }

  std::uint8_t* data_pointer() const { return memory_ + before_; }

  KernelArgument argument(DType dtype) const {
    return KernelArgument::tensor(dtype, data_pointer());
  }
  // The content after all work is done.
  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> out(bytes_);
    device_->copy_to_host(out.data(), data_pointer(), bytes_, {}).value();
    device_->synchronize({}).value();
    return out;
  }

  bool guards_are_whole() const {
    std::vector<std::uint8_t> all(before_ + bytes_ + kGuard);
    device_->copy_to_host(all.data(), memory_, all.size(), {}).value();
    device_->synchronize({}).value();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool inside = i >= before_ && i < before_ + bytes_;
      if (!inside && all[i] != kPoison) return false;
    }
    return true;
  }

 private:
  Device* device_;
  std::size_t bytes_, before_;
  std::uint8_t* memory_;
};

}  // namespace diecast::variants
