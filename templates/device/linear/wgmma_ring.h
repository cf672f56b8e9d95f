// The ring in shared memory through which a linear layer on Hopper gets what it multiplies. One thread brings x and weights,
// 64 of the depth at a time, into its stages. Warpgroups take them, 64 rows of weights each (wgmma_consumer.h).
/* diecast
use    <diecast/device/linear/packed_tile.h>             // TILE_BYTES
let    STAGES        = WARPGROUPS == 4 || M_TILE == 128 ? 8 : M_TILE == 256 ? 5 : M_TILE == 192 ? 6 : 10  // of the ring
let    RING          = STAGES * (max(M_TILE, 64) * 128 + WARPGROUPS * TILE_BYTES)
arg    x_map         tensor_map                          // of x: boxes of 64 rows by 64, turned by 128 bytes
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/bulk_copy.h>

#if DIECAST_CC >= 90

namespace diecast {

// x, then weights, of all stages; HeldBytes for sums on their way to out; barriers of stages that are full, that are empty.
// Sharers: thread blocks of a cluster, which bring each other's rows of x. Warpgroups: that take the stages.
template <int Rows, int Stages, int TileBytes, int HeldBytes, int Sharers, int Warpgroups = 2>
struct WgmmaRing {
  static constexpr u32 kStages = Stages, kTileBytes = TileBytes, kSharers = Sharers, kWarpgroups = Warpgroups;
  static constexpr u32 kRows = Rows > 64 ? Rows : 64;  // x comes in boxes of 64
  static constexpr u32 kXBytes = kRows * 128, kBytes = Stages * (kXBytes + kWarpgroups * TileBytes);

  // As many turns as there are tiles of the depth.
  struct Stage {
    u32 index = 0, parity = 0;
    DIECAST_DEVICE void next() {
      if (++index == kStages) index = 0, parity ^= 1;
    }
  };

  u32 begin;
  DIECAST_DEVICE u32 x(Stage at) const { return begin + at.index * kXBytes; }
  DIECAST_DEVICE u32 weights(Stage at) const { return begin + kStages * kXBytes + at.index * (kWarpgroups * kTileBytes); }
  DIECAST_DEVICE u32 held() const { return begin + (HeldBytes == 0 ? 0 : kBytes); }  // without bytes of its own the ring's
  DIECAST_DEVICE u32 full(Stage at) const { return begin + kBytes + HeldBytes + 8 * at.index; }
  DIECAST_DEVICE u32 empty(Stage at) const { return full(at) + 8 * kStages; }
  DIECAST_DEVICE u32 end() const { return begin + kBytes + HeldBytes + 16 * kStages; }

  // By one thread, before the thread blocks of the cluster meet.
  DIECAST_DEVICE void make_barriers() const {
    for (Stage at; at.parity == 0; at.next()) {
      make_barrier(full(at), 1);
      make_barrier(empty(at), 4 * kWarpgroups * Sharers);  // warps
    }
    show_barriers();
  }
};

// The warpgroup that fills gives registers to those that multiply: as many as a launch of all of them has.
template <int Warpgroups>
DIECAST_DEVICE void fill_with_few_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Warpgroups == 2 ? 72 : 64));
}
template <int Warpgroups>
DIECAST_DEVICE void multiply_with_many_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Warpgroups == 2 ? 216 : 104));
}

// The thread that fills the ring.
template <class Ring>
struct RingFiller {
  Ring ring;
  const TensorMap& x;
  u32 first_row = 0;  // of x in a stage that this thread block brings
  typename Ring::Stage at = {};

  // Waits until nobody needs what the stage had.
  DIECAST_DEVICE void wait() const { wait_for_phase(ring.empty(at), at.parity ^ 1); }

  // A stage for each tile of the depth from `begin` to `end`. strips: where the packed tiles of 64 rows of weights begin. Of
  // x: `boxes` boxes of 64 rows, for a stage whose first row is `row`.
  DIECAST_DEVICE void bring(const u8* const (&strips)[Ring::kWarpgroups], u32 row, u32 boxes, u32 begin, u32 end) {
    DIECAST_NO_UNROLL
    for (u32 depth = begin; depth < end; ++depth, at.next()) {
      wait();
      const u32 full = ring.full(at);
      arrive_and_expect(full, boxes * Ring::kSharers * (64 * 128) + Ring::kWarpgroups * Ring::kTileBytes);
      DIECAST_UNROLL
      for (u32 i = 0; i < Ring::kWarpgroups; ++i)
        copy_bulk(ring.weights(at) + i * Ring::kTileBytes, strips[i] + depth * Ring::kTileBytes, Ring::kTileBytes, full);
      DIECAST_UNROLL
      for (u32 i = 0; i < Ring::kRows / Ring::kSharers / 64; ++i) {
        if (i == boxes) break;
        const u32 box = first_row + 64 * i;
        copy_box<Ring::kSharers>(ring.x(at) + box * 128, x, static_cast<i32>(row + box), static_cast<i32>(depth * 64), full);
      }
    }
  }
};

}  // namespace diecast

#endif
