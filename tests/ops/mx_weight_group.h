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
  void* add(Device& device, std::size_t bytes, std::size_t shift);
};

// All ranks cast together; empty, or what differs on one of them.
std::string cast_mx_on_ranks(Runtime& runtime, const std::shared_ptr<Device>& device,
                             const Model& model, const Bounds& bounds, Format format,
                             bool gather = true);

// What must hold on every device: of all values of bf16, of matrices of all kinds and layouts, of
// every type of masters and models, gathered or not, of every cut of a small matrix, of what is not
// finite or has no elements, and of ten thousand.
std::string cast_mx_every_bf16_value(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_however_cut(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_every_type(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_every_small_cut(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_nothing_finite(Runtime& runtime, const std::shared_ptr<Device>& device);
std::string cast_mx_ten_thousand(Runtime& runtime, const std::shared_ptr<Device>& device);

// A shard of the last 32 rows but for their first element, of a weight of `rows` (32n) and `cols`.
std::string cast_mx_last_rows(Runtime& runtime, const std::shared_ptr<Device>& device,
                              std::int64_t rows, std::int64_t cols);

}  // namespace diecast::weights_test
