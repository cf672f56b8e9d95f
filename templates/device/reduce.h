// The maximum of a warp's or a block's values, given back to all its threads. NaN is ignored, so the
// order does not matter and every grouping gives the same bits.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// All 32 lanes of the warp take part.
DIECAST_DEVICE f32 warp_reduce_max(f32 value) {
DIECAST_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
  }
  return value;
}

// All `Threads` (a multiple of 32) of a one-dimensional block take part, and none may have left the
// kernel. Ends in a barrier: it may be called again at once.
template <int Threads>
DIECAST_DEVICE f32 block_reduce_max(f32 value) {
  value = warp_reduce_max(value);
  if constexpr (Threads > 32) {
    __shared__ f32 of_warp[Threads / 32];
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
DIECAST_UNROLL
    for (int warp = 0; warp < Threads / 32; ++warp) value = fmaxf(value, of_warp[warp]);
    __syncthreads();
  }
  return value;
}

}  // namespace diecast
