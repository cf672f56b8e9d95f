// What the ops on lists of weights ask of a weight and its shard before they describe it.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/weights/master_weights.h>

#include <span>
#include <string>

namespace diecast {

// Which weights a call is for, and the name it has in messages.
struct WeightFamily {
  bool mx = false;  // MXFP8, not NVFP4
  std::string_view op;
};

// A weight these ops take, two-dimensional under profile te: NVFP4 in 16x16 blocks, or MXFP8 in
// 1x32 blocks with both directions. `name`: "weight 3".
Result<void> check_weight(const WeightFamily& family, const QuantizedTensor& weight,
                          const std::string& name, bool padded_scales);

// The list of entries that a cast describes, checked. Errors: as cast_master_weights_to_nvfp4.
Result<std::vector<ShardedWeight>> sharded_weights(const WeightFamily& family,
                                                   std::span<const QuantizedTensor> model_weights,
                                                   std::span<const Tensor> master_shards,
                                                   std::span<const std::int64_t> start_offsets,
                                                   const MasterCastOptions& options);

}  // namespace diecast
