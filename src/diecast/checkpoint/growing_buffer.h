// One device buffer that only grows, for work that comes in pieces.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/safetensors.h>
#include <diecast/launch/device.h>

#include <memory>

namespace diecast {

class GrowingBuffer {
 public:
  explicit GrowingBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  GrowingBuffer(const GrowingBuffer&) = delete;
  GrowingBuffer& operator=(const GrowingBuffer&) = delete;
  ~GrowingBuffer() { release(); }

  Result<void*> sized(std::size_t bytes) {
    if (bytes > size_) {
      release();
      DIECAST_TRY(memory_, device_->allocate(bytes));
      size_ = bytes;
    }
    return memory_;
  }
  Result<void*> holding(ByteSpan content) {
    DIECAST_TRY(void* const memory, sized(content.size()));
    DIECAST_CHECK(device_->copy_to_device(memory, content.data(), content.size(), {}));
    return memory;
  }

 private:
  void release() {
    // A failure to free leaves nothing to do: the device is gone, or the process is ending.
    if (memory_ != nullptr) (void)device_->free(memory_).ok();
    memory_ = nullptr;
    size_ = 0;
  }
  std::shared_ptr<Device> device_;
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace diecast
