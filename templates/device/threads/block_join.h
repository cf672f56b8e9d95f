// What a block of `Threads` threads finds together, given back to all of them. The order of a sum
// follows from their number alone, so that its bits are the same on every target.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

template <int Threads, class Join>
DIECAST_DEVICE f32 block_join(f32 value, const Join& join) {
  __shared__ f32 of_warps[Threads / 32];
  for (int distance = 16; distance > 0; distance /= 2) value = join(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
  __syncthreads();  // whoever still reads what was found before
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (int warp = 1; warp < Threads / 32; ++warp) value = join(value, of_warps[warp]);
  return value;
}

template <int Threads>
DIECAST_DEVICE f32 block_sum(f32 value) {
  return block_join<Threads>(value, [](f32 a, f32 b) { return a + b; });
}
template <int Threads>
DIECAST_DEVICE f32 block_max(f32 value) {
  return block_join<Threads>(value, [](f32 a, f32 b) { return fmaxf(a, b); });
}

}  // namespace diecast
