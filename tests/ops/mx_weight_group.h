// One rank's weights in MXFP8 and casts of a group of threads, held against quantizing the whole
// weights in both directions.
#pragma once

#include "ops/weight_list.h"

namespace diecast::weights_test {

struct MxRank {
  MxRank(const std::shared_ptr<Device>& device, const Model& model, const Bounds& bounds, int rank,
         Format format);
  // Where weight w's direction is not what the reference makes of the whole: of its data all bytes,
  // or the own ones and poison.
  std::string difference(const Model& model, std::size_t w, bool columnwise, bool gathered) const;

  std::vector<std::unique_ptr<DeviceBuffer>> memory;
  std::vector<QuantizedTensor> weights;
  std::vector<Tensor> shards;
  std::vector<std::int64_t> starts;

 private:
  void* add(Device& device, std::size_t bytes);
};

// All ranks cast together; empty, or what differs on one of them.
std::string cast_mx_on_ranks(Runtime& runtime, const std::shared_ptr<Device>& device,
                             const Model& model, const Bounds& bounds, Format format,
                             bool gather = true);

// What must hold on every device: of all values of bf16, of matrices of all kinds and layouts, of
// every type of masters and models, gathered or not, and of every cut of a small matrix.
std::string cast_mx_every_bf16_value(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_however_cut(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_every_type(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_every_small_cut(Runtime& runtime, const std::shared_ptr<Device>& device);

}  // namespace diecast::weights_test
