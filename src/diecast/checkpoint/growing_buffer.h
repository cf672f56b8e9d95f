// One device buffer that only grows, for work that comes in pieces.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/safetensors.h>
#include <diecast/launch/device_memory.h>

#include <memory>

namespace diecast {

class GrowingBuffer {
 public:
  explicit GrowingBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;

  Result<void*> sized(std::size_t bytes) {
    if (bytes > size_) {
      memory_ = {};  // before more is taken
      size_ = 0;
      DIECAST_TRY(memory_, DeviceMemory::allocate(device_, bytes));
      size_ = bytes;
    }
    return memory_.data();
  }
  Result<void*> holding(ByteSpan content, Stream stream = {}) {
    DIECAST_TRY(void* const memory, sized(content.size()));
    DIECAST_CHECK(device_->copy_to_device(memory, content.data(), content.size(), stream));
    return memory;
  }

 private:
  std::shared_ptr<Device> device_;
  DeviceMemory memory_;
  std::size_t size_ = 0;
};

}  // namespace diecast
