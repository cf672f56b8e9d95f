// The wait of all blocks for one another, for kernels with `launch cooperative`.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

#if !DIECAST_HOST

namespace diecast {

// All threads of all blocks wait here for one another, and see what any of them wrote to global memory before. Its counter is
// the driver's, which gives each cooperative launch one of its own: launches at the same time and replays of a graph do not meet.
DIECAST_DEVICE void grid_barrier() {
  __syncthreads();
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    u64 workspace;
    asm("{\n .reg .b32 low, high;\n mov.u32 high, %%envreg1;\n mov.u32 low, %%envreg2;\n mov.b64 %0, {low, high};\n}"
        : "=l"(workspace));
    u32* const counter = reinterpret_cast<u32*>(workspace) + 1;  // behind the workspace's size
    // Together the blocks add 2^31: the top bit turns over when the last of them comes, whatever it was.
    constexpr u32 kTop = 0x80000000u;
    const bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
    const u32 others = gridDim.x * gridDim.y * gridDim.z - 1;
    __threadfence();
    const u32 before = atomicAdd(counter, first ? kTop - others : 1u);
    u32 now;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    } while (((before ^ now) & kTop) == 0);
    __threadfence();
  }
  __syncthreads();
}

}  // namespace diecast

#endif
