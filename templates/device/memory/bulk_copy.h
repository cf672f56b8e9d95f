// Bulk copies of 9.0 and later, which one thread begins and the hardware carries out, and the barriers in shared memory that
// wait for their bytes. A barrier has phases: `parity` is 0 in the first and changes with each. All places are of shared memory.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

#if DIECAST_CC >= 90

namespace diecast {

// A barrier of 8 bytes whose phases end with so many arrivals.
DIECAST_DEVICE void make_barrier(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// After a thread's make_barrier, before the thread blocks of its cluster meet: they and bulk copies see them from there on.
DIECAST_DEVICE void show_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Arrives, and makes the phase wait for so many bytes of copies too.
DIECAST_DEVICE void arrive_and_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

DIECAST_DEVICE void arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }

// Arrives at the barrier that thread block `rank` of the cluster has at this place.
DIECAST_DEVICE void arrive_at(u32 barrier, u32 rank) {
  asm volatile(
      "{\n .reg .b32 at;\n mapa.shared::cluster.u32 at, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [at];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Waits until the phase of this parity has ended.
DIECAST_DEVICE void wait_for_phase(u32 barrier, u32 parity) {
  asm volatile(
      "{\n .reg .pred done;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      " @!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// `bytes`, a multiple of 16, at multiples of 16.
DIECAST_DEVICE void copy_bulk(u32 to, const void* from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
               "r"(bytes), "r"(barrier)
               : "memory");
}

// The box of a matrix whose first element is (row, col), zeros where the matrix ends: to the same place of each of a
// cluster's `Blocks` thread blocks, whose barriers at the same place get the bytes.
template <int Blocks>
DIECAST_DEVICE void copy_box(u32 to, const TensorMap& map, i32 row, i32 col, u32 barrier) {
  if constexpr (Blocks > 1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
        "[%4], %5;" ::"r"(to),
        "l"(&map), "r"(col), "r"(row), "r"(barrier), "h"(static_cast<u16>((1 << Blocks) - 1))
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(col), "r"(row), "r"(barrier)
        : "memory");
  }
}

}  // namespace diecast

#endif
