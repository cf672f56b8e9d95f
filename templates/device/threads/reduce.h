// The largest of a warp's or a thread block's magnitudes (at least +0), given back to all its threads; NaN
// (0x7FFFFFFF) if there is one. No order matters: every grouping gives the same bits.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// All 32 lanes of the warp take part. Magnitudes compare as the integers of their bits; of those a
// NaN is the largest.
DIECAST_DEVICE u32 warp_reduce_max_bits(u32 value) {
#if DIECAST_HOST
  for (int distance = 16; distance > 0; distance /= 2) {
    value = max(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
  }
  return value;
#else
  return __reduce_max_sync(0xFFFFFFFFu, value);
#endif
}

// The larger of two magnitudes, NaN if one is. NaN is 0x7FFFFFFF, whose bits are above all others.
DIECAST_DEVICE f32 max_or_nan(f32 a, f32 b) { return __uint_as_float(max(__float_as_uint(a), __float_as_uint(b))); }

DIECAST_DEVICE f32 warp_reduce_max(f32 value) { return __uint_as_float(warp_reduce_max_bits(__float_as_uint(value))); }

// All 32 lanes of the warp take part: of each `Lanes` neighbours (a power of two) the largest.
template <int Lanes>
DIECAST_DEVICE f32 lanes_reduce_max(f32 value) {
  if constexpr (Lanes == 32) {
    return warp_reduce_max(value);
  } else {
    DIECAST_UNROLL
    for (int distance = 1; distance < Lanes; distance *= 2) {
      value = max_or_nan(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
    }
    return value;
  }
}

// All `Threads` (a multiple of 32) of a one-dimensional thread block take part, and none may have left the
// kernel. One reduction after another takes `turn` 0 and 1: a thread that is ahead by one writes where
// nobody reads any more. A thread block of `Side` times as many threads reduces as many values, each by
// neighbours of `Threads` that wait for nobody else.
template <int Threads, int Side = 1>
DIECAST_DEVICE f32 block_reduce_max(f32 value, u32 turn) {
  value = warp_reduce_max(value);
  if constexpr (Threads > 32) {
    constexpr u32 kWarps = Threads / 32;
    __shared__ f32 of_warps[2 * Side * kWarps];
    const u32 side = Side == 1 ? 0 : threadIdx.x / Threads;
    f32* const of_all = of_warps + turn * (Side * kWarps);
    const f32* const of_warp = of_all + side * kWarps;
    if (threadIdx.x % 32 == 0) of_all[threadIdx.x / 32] = value;
#if DIECAST_HOST  // where an exchange within a warp costs more than reading a few values
    __syncthreads();
    for (u32 warp = 0; warp < kWarps; ++warp) value = max_or_nan(value, of_warp[warp]);
#else
    if constexpr (Side == 1)
      __syncthreads();
    else
      asm volatile("bar.sync %0, %1;" ::"r"(side + 1), "n"(Threads) : "memory");
    value = warp_reduce_max(of_warp[threadIdx.x % kWarps]);
#endif
  }
  return value;
}

}  // namespace diecast
