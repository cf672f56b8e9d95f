// What the host and the GPU part of the bench share: random matrices and outputs in device memory.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device_memory.h>
#include <diecast/ops/quantized_buffer.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace diecast::tool {

// A call's median time by device events, in milliseconds, after two calls that warm up.
Result<double> median_ms(Device& device, Stream stream, int repeats,
                         const std::function<Result<void>()>& call);

// A [rows, cols] bf16 matrix of seeded normal values, and buffers for its rows quantized.
struct BenchMatrix {
  DeviceMemory memory;  // x's
  Tensor x;
  QuantizedBuffer outputs;

  const QuantizedTensor& quantized() const { return outputs.tensor(); }
};
Result<BenchMatrix> bench_matrix(const std::shared_ptr<Device>& device, std::int64_t rows,
                                 std::int64_t cols, bool row_scaled, std::uint64_t seed,
                                 ScaleLayout layout = ScaleLayout::linear);

}  // namespace diecast::tool
