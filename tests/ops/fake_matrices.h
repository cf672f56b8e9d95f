// A matrix for ops on a fake GPU.
#pragma once

#include <diecast/diecast.h>

#include <cstdint>

namespace diecast::testing {

// A [rows, cols] bf16 matrix and its quantized form in the fake GPU's memory.
struct Matrices {
  Matrices(Device& device, std::int64_t rows, std::int64_t cols, bool row_scaled = false) {
    x = {device.allocate(static_cast<std::size_t>(rows * cols * 2)).value(), DType::bf16,
         Shape{rows, cols}, 0, nullptr};
    out.shape = x.shape;
    out.row_scaled = row_scaled;
    out.rowwise = out.rowwise_sizes().value();
    out.rowwise.data = device.allocate(static_cast<std::size_t>(out.rowwise.data_bytes)).value();
    out.rowwise.scale = device.allocate(static_cast<std::size_t>(out.rowwise.scale_bytes)).value();
    out.rowwise.amax = static_cast<float*>(
        device.allocate(static_cast<std::size_t>(out.rowwise.amax_count) * 4).value());
  }
  Tensor x;
  QuantizedTensor out;
};

}  // namespace diecast::testing
