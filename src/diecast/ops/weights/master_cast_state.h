// What a prepared cast of master weights keeps: kernels, descriptors in device memory, and what is
// exchanged with the other ranks.
#pragma once

#include <diecast/launch/device_memory.h>
#include <diecast/ops/weights/checks.h>
#include <diecast/ops/weights/master_weights.h>

#include <vector>

namespace diecast {

// The high half of a byte that this rank sends and another one owns the second code of.
struct EdgeMerge {
  std::int64_t byte = 0;  // address in device memory
  std::int64_t edge = 0;  // index in the gathered first codes: rank * weights + weight
};

// One buffer's Gather with the numbers it points to.
struct OwnedGather {
  void* buffer = nullptr;
  std::vector<std::int64_t> offsets, counts;
};

struct PreparedMasterCast::State {
  std::shared_ptr<Device> device;
  std::shared_ptr<Kernel> partial_amax, fused_scale, partial_cast, merge;
  Communicator* communicator = nullptr;
  std::int64_t weights = 0, ranks = 1;
  WeightTable table;
  DeviceMemory descriptors, merges;
  WeightFamily family;
  std::vector<EdgeMerge> own_merges;
  bool edges = false;  // some shard of some rank begins inside a byte
  std::vector<OwnedGather> owned_gathers;
  std::vector<Gather> gathers;
  std::vector<std::int64_t> edge_offsets, edge_counts;

  // Scratch: amaxes of the weights, maxima of the tiles, first codes of every rank.
  std::int64_t amaxes() const { return (weights + 3) / 4 * 4; }
  std::int64_t floats() const { return amaxes() + table.tiles; }
  std::int64_t scratch_bytes() const {
    return floats() * std::int64_t{sizeof(float)} + ranks * weights;
  }

  Result<void> prepare_alone(Runtime& runtime, const std::vector<ShardedWeight>& list, DType master,
                             const MasterCastOptions& options, Stream stream);
  Result<void> prepare_exchange(const std::vector<ShardedWeight>& list,
                                const std::vector<std::vector<ShardRange>>& of_ranks,
                                bool gather_codes, Stream stream);
  void plan_gather(void* data, const std::vector<ShardStorage>& of_ranks);
  Result<void> find_maxima(float* amaxes, Stream stream) const;
  Result<void> share_edges(std::uint8_t* edges, Stream stream) const;
};

}  // namespace diecast
