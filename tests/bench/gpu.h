// What the GPU part of the bench measures with: two calls in turn on one stream, on matrices that
// no cache holds, behind a kernel that gives the host the time to enqueue them.
#pragma once

#include <diecast/base/error.h>
#include <diecast/launch/device.h>
#include <diecast/ops/quantized_buffer.h>
#include <diecast/ops/tensor.h>
#include <diecast/runtime/runtime.h>
#include <diecast/tool/spin.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/accesses.h"
#include "bench/bench.h"
#include "bench/device.h"

namespace diecast::tool {

// Inputs and outputs are there twice, and calls take them in turn: between two readings of the same
// bytes lies more than a gigabyte of others.
inline constexpr std::size_t kGpuSets = 2;

// One shape: its matrices, of bf16 if nothing else is said, and the figures so far.
class GpuBench {
 public:
  // `set`: which of the inputs and outputs to take.
  using Call = std::function<Result<void>(std::size_t set)>;

  static Result<GpuBench> open(Runtime& runtime, std::shared_ptr<Device> device, std::int64_t rows,
                               std::int64_t cols, DType dtype = DType::bf16);

  Runtime& runtime() const { return *runtime_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  Stream stream() const { return stream_; }
  std::int64_t cols() const { return cols_; }
  DType dtype() const { return x_.front().dtype; }
  const Tensor& x(std::size_t set) const { return x_[set]; }

  // Device memory, until the next against_copy() is done.
  Result<void*> take(std::int64_t bytes);
  // A matrix of x's shape to write to, in every set.
  Result<std::vector<Tensor>> outputs();
  // Buffers for x quantized, in every set. Amaxes are 5.5, about the largest of x.
  Result<std::vector<QuantizedTensor>> quantized(const QuantizedType& type = {},
                                                 Sides sides = Sides::rowwise);

  // Adds the call's share of a device-to-device copy's rate that moves as many bytes: what the op
  // must read and write. Where that misses the bound and `accesses` says how, its share of the best
  // kernel with the same accesses and no arithmetic instead; the best of each memory pattern is
  // added in either case. Then frees what was taken for it.
  Result<void> against_copy(const std::string& what, double bytes_an_element, double bound,
                            const Call& call, const Accesses& accesses = {});
  // Adds the call's time over another's; with `accesses` as above.
  Result<void> against(const std::string& what, const std::string& base_name, double bound,
                       const Call& base, const Call& call, const Accesses& accesses = {});

  // What reading x and writing `out` (its rows) takes; nothing for tiles that are padded.
  Accesses quantizing(const std::vector<QuantizedTensor>& out) const;
  // What a pass over x in units of so many bytes takes, without its buffers.
  Accesses reading(int bytes) const;

  Figures figures;

 private:
  GpuBench() = default;
  // Medians in milliseconds of calls that take turns.
  Result<std::vector<double>> in_turns(const std::vector<Call>& calls, int turns) const;
  // The fastest of each memory pattern.
  Result<std::vector<AccessPattern>> best_patterns(const Accesses& accesses) const;
  // Adds what was measured: `ms` of the base, the call and each pattern. A lower bound is of the
  // base's time over the call's in percent, an upper one of the call's over the base's.
  void add(Figure figure, const std::vector<double>& ms,
           const std::vector<AccessPattern>& patterns);
  Result<double> milliseconds(const Call& call, std::size_t set) const;
  Result<void> give_amax(const QuantizedSide& side);

  Runtime* runtime_ = nullptr;
  std::shared_ptr<Device> device_;
  Stream stream_;
  Spin spin_;
  Event from_, to_;
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<Tensor> x_;
  std::vector<DeviceMemory> of_x_, taken_;
  std::vector<QuantizedBuffer> outputs_;
};

Result<void> add_gpu_ops(GpuBench& bench);      // the ops against a copy
Result<void> add_gpu_options(GpuBench& bench);  // options against the op without them
// Those of the ops that read any element type, against a copy: no bounds.
Result<void> add_gpu_inputs(GpuBench& bench);

}  // namespace diecast::tool
