// What kernels read of each weight of a list, so that one launch serves them all: a group member's
// descriptor, the shard, and where the weight's units of work begin.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>
#include <diecast/ops/weights/shard.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace diecast {

// The kernels of templates/device/groups/weights.h, by what a unit of their work is.
enum class UnitKind { shard, scale, transpose, scale_transpose };
inline constexpr std::size_t kUnitKinds = 4;

// 208 bytes, little-endian, in an array in device memory; Weight in
// templates/device/groups/weights.h.
struct alignas(16) WeightDescriptor {
  MemberDescriptor member;  // matrix: the shard's values; row_begin: of its first row of tiles
  std::int64_t cols = 0;
  std::int64_t begin = 0, end = 0;              // the shard, in elements
  std::int64_t row_codes = 0;                   // codes from one row to the next
  std::int64_t first_code = 0, end_code = 0;    // the shard, in codes
  std::int64_t first_tile = 0;                  // a multiple of 4, in the array of all tiles
  std::int64_t column_codes = 0;                // row_codes of the transposed matrix
  std::int64_t scale_rows = 0, scale_cols = 0;  // of the scale matrices, padding included
  std::int64_t column_scale_rows = 0, column_scale_cols = 0;
  std::array<std::uint32_t, kUnitKinds> unit_begin{};
};
static_assert(sizeof(WeightDescriptor) == 208);

// One entry of the list: a weight in NVFP4 with 16x16 blocks or in MXFP8 with 1x32 blocks in both
// directions, and this rank's shard of its master values. `codes` is the byte that holds the
// shard's first code where not all of the weight's data is there (a fragment of its own), else
// null; `column_codes` the same of MXFP8's columnwise data.
struct ShardedWeight {
  QuantizedTensor weight;
  const void* values = nullptr;
  ShardRange shard;
  void* codes = nullptr;
  bool padded_scales = false;  // as MasterCastOptions has it
  void* column_codes = nullptr;
};

struct WeightTable {
  std::vector<WeightDescriptor> descriptors;
  std::array<std::int64_t, kUnitKinds> units{};  // of all weights
  std::int64_t units_of(UnitKind kind) const { return units[static_cast<std::size_t>(kind)]; }
  std::int64_t tiles = 0;  // floats of the array of all tiles (MXFP8: of all blocks' maxima)
  // Every row of tiles has an element of the shards, and no weight's end in padding.
  bool owns_all_tiles = true;
};

// What was checked before. Errors: not_supported for more units than a launch can number (2^31).
Result<WeightTable> describe_weights(std::span<const ShardedWeight> weights);

}  // namespace diecast
