// Clusters: thread blocks that are on the GPU together and reach each other's shared memory, on 9.0 and later. A kernel is
// told its cluster's size by a parameter, 1 where there is none. What one reads of another's; the largest of all magnitudes.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/threads/reduce.h>

namespace diecast {

// Which of its cluster's thread blocks this is.
template <int Blocks>
DIECAST_DEVICE u32 cluster_rank() {
#if !DIECAST_HOST
  if constexpr (Blocks > 1) {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
  }
#endif
  return 0;
}

// All threads of all thread blocks that have not ended wait for each other, and see what was written to shared memory before. (A release of
// all memory would wait for stores to arrive; until 12.8 there is no other.)
template <int Blocks>
DIECAST_DEVICE void cluster_barrier() {
#if !DIECAST_HOST
  if constexpr (Blocks > 1) {
#if __CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ >= 8
    asm volatile("fence.release.sync_restrict::shared::cta.cluster;\n barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    return;
  }
#endif
  __syncthreads();
}

// Four bytes of the shared memory of thread block `rank`, where this one has `own`.
template <int Blocks>
DIECAST_DEVICE u32 load_of_cluster(const void* own, u32 rank) {
#if !DIECAST_HOST
  if constexpr (Blocks > 1) {
    u32 word;
    asm volatile("{\n .reg .b32 at;\n mapa.shared::cluster.u32 at, %1, %2;\n ld.shared::cluster.u32 %0, [at];\n}"
                 : "=r"(word)
                 : "r"(shared_address(own)), "r"(rank)
                 : "memory");
    return word;
  }
#endif
  return *static_cast<const u32*>(own);
}

// One reduction, once in a kernel, by all threads of `Blocks` thread blocks of `Threads`. It is made at the kernel's
// beginning, so that nothing waits for the others to begin. Where there is one alone it may have `Side` times as many
// threads, and each `Threads` of them reduce by themselves.
template <int Threads, int Blocks, int Side = 1>
struct ClusterMax {
  static_assert(Blocks == 1 || Side == 1, "a cluster reduces one value");
#if !DIECAST_HOST
  static constexpr int kWarps = Threads / 32 * Blocks;
  struct Places {
    u64 barrier;
    f32 of_warps[kWarps];
  };
  Places* places;

  DIECAST_DEVICE ClusterMax() {
    if constexpr (Blocks > 1) {
      __shared__ Places own;
      places = &own;
      if (threadIdx.x == 0) {
        asm volatile(
            "mbarrier.init.shared::cta.b64 [%0], 1;\n fence.mbarrier_init.release.cluster;\n"
            " mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(places)),
            "r"(4 * kWarps)
            : "memory");
      }
      asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    }
  }
#endif

  // Each warp's largest goes to a place of its own in all thread blocks' memory, whose barrier counts the bytes.
  DIECAST_DEVICE f32 operator()(f32 value) const {
    if constexpr (Blocks == 1) {
      return block_reduce_max<Threads, Side>(value, 0);
    } else {
#if !DIECAST_HOST
      value = warp_reduce_max(value);
      asm volatile("barrier.cluster.wait.aligned;" : "+f"(value)::"memory");
      const u32 lane = threadIdx.x % 32, barrier = shared_address(places);
      if (lane < Blocks) {
        const u32 warp = cluster_rank<Blocks>() * (Threads / 32) + threadIdx.x / 32;
        asm volatile(
            "{\n .reg .b32 to, bar;\n mapa.shared::cluster.u32 to, %0, %3;\n mapa.shared::cluster.u32 bar, %1, %3;\n"
            " st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %2, [bar];\n}" ::"r"(barrier + 8 + 4 * warp),
            "r"(barrier), "r"(__float_as_uint(value)), "r"(lane)
            : "memory");
      }
      asm volatile(
          "{\n .reg .pred done;\n"
          "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
          " @!done bra again;\n}" ::"r"(barrier)
          : "memory");
      DIECAST_UNROLL
      for (int warp = 0; warp < kWarps; warp += 32) {
        value = max_or_nan(value, places->of_warps[(warp + lane) % kWarps]);
      }
      return warp_reduce_max(value);
#endif
    }
  }
};

}  // namespace diecast
