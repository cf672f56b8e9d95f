// What the host and the GPU part of the bench share: random matrices and outputs in device memory.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace diecast::tool {

// Device memory that is freed with it.
class BenchMemory {
 public:
  static Result<BenchMemory> allocate(std::shared_ptr<Device> device, std::size_t bytes);
  BenchMemory() = default;
  BenchMemory(BenchMemory&&) noexcept = default;
  BenchMemory& operator=(BenchMemory&&) noexcept = default;
  void* data() const { return memory_.get(); }

 private:
  std::shared_ptr<void> memory_;
};

// A call's median time by device events, in milliseconds, after two calls that warm up.
Result<double> median_ms(Device& device, Stream stream, int repeats,
                         const std::function<Result<void>()>& call);

// A [rows, cols] bf16 matrix of seeded normal values, and buffers for its rows quantized.
struct BenchMatrix {
  std::vector<BenchMemory> memory;
  Tensor x;
  QuantizedTensor quantized;
};
Result<BenchMatrix> bench_matrix(const std::shared_ptr<Device>& device, std::int64_t rows,
                                 std::int64_t cols, bool row_scaled, std::uint64_t seed,
                                 ScaleLayout layout = ScaleLayout::linear);

}  // namespace diecast::tool
