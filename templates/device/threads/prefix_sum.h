// Sums over the lanes of a warp.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// All 32 lanes of the warp take part: of each lane's number and those of the lanes before it.
DIECAST_DEVICE i64 warp_prefix_sum(i64 value) {
  DIECAST_NO_UNROLL
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const i64 before = __shfl_up_sync(0xFFFFFFFFu, value, distance);
    if (threadIdx.x % 32 >= distance) value += before;
  }
  return value;
}

// Of all lanes: the last one's prefix sum.
DIECAST_DEVICE i64 sum_of_lanes(i64 prefix_sum) { return __shfl_sync(0xFFFFFFFFu, prefix_sum, 31); }

}  // namespace diecast
