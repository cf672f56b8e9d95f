// An owner for a quantized matrix: the device memory that a QuantizedTensor views.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/launch/device_memory.h>
#include <diecast/ops/quantized_tensor.h>

#include <memory>

namespace diecast {

class QuantizedBuffer {
 public:
  QuantizedBuffer() = default;  // owns nothing

  // Buffers of exactly the sizes that a matrix of this shape and type needs, in one allocation. All
  // of them start at multiples of 256 bytes. The contents are not set. Errors: those of
  // QuantizedTensor::rowwise_sizes and of Device::allocate; invalid_argument (no device).
  static Result<QuantizedBuffer> allocate(const std::shared_ptr<Device>& device, const Shape& shape,
                                          const QuantizedType& type = {},
                                          Sides sides = Sides::rowwise);

  // What ops take. The view lives as long as the buffer, or a copy of it, does.
  const QuantizedTensor& tensor() const { return tensor_; }

 private:
  QuantizedTensor tensor_;
  DeviceMemory memory_;
};

}  // namespace diecast
