// A matrix for ops on a fake GPU.
#pragma once

#include <diecast/diecast.h>

#include <cstdint>

namespace diecast::testing {

// A [rows, cols] bf16 matrix and its quantized form in the fake GPU's memory.
struct Matrices {
  Matrices(Device& device, std::int64_t rows, std::int64_t cols, bool row_scaled = false,
           ScaleLayout layout = ScaleLayout::linear, bool columns = false) {
    const auto take = [&](std::int64_t bytes) {
      return device.allocate(static_cast<std::size_t>(bytes)).value();
    };
    const auto with_memory = [&](QuantizedSide side) {
      side.data = take(side.data_bytes);
      side.scale = take(side.scale_bytes);
      side.amax = static_cast<float*>(take(side.amax_count * 4));
      return side;
    };
    x = {take(rows * cols * 2), DType::bf16, Shape{rows, cols}, 0, nullptr};
    out.shape = x.shape;
    out.type.row_scaled = row_scaled;
    out.type.layout = layout;
    out.rowwise = with_memory(out.rowwise_sizes().value());
    if (columns) out.columnwise = with_memory(out.columnwise_sizes().value());
  }
  Tensor x;
  QuantizedTensor out;
};

// The same of any size: at an address that no launch on a fake GPU reads.
struct MatricesWithoutMemory {
  MatricesWithoutMemory(std::int64_t rows, std::int64_t cols, bool row_scaled,
                        ScaleLayout layout = ScaleLayout::linear) {
    void* const memory = reinterpret_cast<void*>(0x1000);
    x = {memory, DType::bf16, Shape{rows, cols}, 0, nullptr};
    out.shape = x.shape;
    out.type.row_scaled = row_scaled;
    out.type.layout = layout;
    out.rowwise = out.rowwise_sizes().value();
    out.rowwise.data = out.rowwise.scale = memory;
    out.rowwise.amax = static_cast<float*>(memory);
  }
  Tensor x;
  QuantizedTensor out;
};

}  // namespace diecast::testing
