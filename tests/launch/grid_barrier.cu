// What all blocks write in each round all of them read in the next.
/* diecast
tune     int  WARPS {1, 4} = 4
size     blocks
size     rounds
arg      cells  inout u32 [2, blocks]
arg      sums   out   u64 [blocks]
arg      blocks
arg      rounds
launch   grid(blocks) block(32, WARPS) cooperative
target   sm_80+
sample   blocks {8}  rounds {3}
*/
#include <diecast/device/threads/grid_barrier.h>

DIECAST_KERNEL {
  const bool one = threadIdx.x == 0 && threadIdx.y == 0;
  u64 sum = 0;
  for (i64 round = 0; round < rounds; ++round) {
    u32* const now = cells + round % 2 * blocks;
    if (one) now[blockIdx.x] = static_cast<u32>(round * 1000 + blockIdx.x);
    grid_barrier();
    if (one)
      for (i64 i = 0; i < blocks; ++i) sum = sum * 31 + __ldcg(now + i);
  }
  if (one) sums[blockIdx.x] = sum;
}
