// linear_wgmma: linear for many rows of x on Hopper, with the same bits.
// A thread block makes tiles of M_TILE rows of out by 128 or 256 rows of weights. One thread brings x and weights, 64 of the depth
// at a time, into a ring in shared memory. Warpgroups have 64 rows of weights each: they convert a tile's weights in registers
// while wgmma multiplies the tile before. Parts of the depth (SPLIT) are made one behind the other, or, APART, each by a thread
// block of a cluster, which add them.
/* diecast
use      <diecast/device/linear/linear_result.h>
tune     int   M_TILE     {32, 64, 128, 192, 256} = 128  // rows of out that a thread block makes
tune     int   WARPGROUPS {2, 4} = 2                     // that multiply: four hide more of the conversion
use      <diecast/device/linear/wgmma_ring.h>
tune     int   CLUSTER {1, 2} = 1                        // thread blocks that share rows of x
tune     bool  APART   = false                           // the parts of the depth are of thread blocks of their own
let      CLUSTER_BLOCKS = APART ? SPLIT : CLUSTER        // thread blocks of a cluster
let      HELD_BYTES     = APART ? 0 : WARPGROUPS * 64 * 272  // of sums on their way to out; APART they lie where the ring was
require  CLUSTER == 1 || M_TILE % 128 == 0               // a thread block of a cluster brings whole boxes
require  WARPGROUPS == 2 || (M_TILE <= 64 && CLUSTER == 1)  // registers for the sums
require  !APART || (SPLIT > 1 && CLUSTER == 1)           // a cluster has one purpose
require  APART || SPLIT == 1 || (M_TILE <= 128 && WARPGROUPS == 2)  // registers for the sums of the parts before
launch   grid(CLUSTER_BLOCKS * min(ceil_div((GATED ? 2 : 1) * cols, 64 * WARPGROUPS * CLUSTER) * ceil_div(rows, M_TILE),
                                   APART ? 1 << 30 : max(sm_count / CLUSTER, 1)))
launch   block(128 * WARPGROUPS + 128) resident(1) cluster(CLUSTER_BLOCKS) dependent
launch   shared(RING + HELD_BYTES + 16 * STAGES)
target   sm_90a
exchange block
*/
#include <diecast/device/linear/linear_rows.h>
#include <diecast/device/linear/linear_work.h>
#include <diecast/device/linear/wgmma_consumer.h>
#include <diecast/device/threads/cluster.h>

using Ring = WgmmaRing<M_TILE, STAGES, TILE_BYTES, HELD_BYTES, CLUSTER, WARPGROUPS>;
using Consumer = WgmmaConsumer<Ring, WgmmaSums<M_TILE, APART ? 1 : SPLIT, IN>, IN, FORMAT, GATED>;
using Rows = LinearRows<ACTIVATION, HAS_BIAS, HAS_RESIDUAL, IN, OUT, ROW_FACTORS>;

constexpr u32 kThreads = 128 * WARPGROUPS;  // that multiply

// What this thread block does: some tiles of out, and of the depth all or a part.
struct Work {
  u32 row_tiles, col_tiles, depth_tiles, rank;

  // Of a cluster's thread blocks: the tiles of out by rows of weights.
  DIECAST_DEVICE Work(i64 rows, i64 weight_rows, i64 depth)
      : row_tiles(static_cast<u32>(ceil_div(rows, M_TILE))),
        col_tiles(static_cast<u32>(ceil_div(weight_rows, 64 * WARPGROUPS * CLUSTER))),
        depth_tiles(static_cast<u32>(ceil_div(depth, 64))),
        rank(cluster_rank<CLUSTER_BLOCKS>()) {}
  DIECAST_DEVICE u32 part(u32 nth) const { return part_of_depth<SPLIT>(nth, depth_tiles); }
  DIECAST_DEVICE u32 begin() const { return APART ? part(rank) : 0; }
  DIECAST_DEVICE u32 end() const { return APART ? part(rank + 1) : depth_tiles; }

  // The row in tiles, the column in 64 rows of weights, for the first warpgroup.
  template <class Make>
  DIECAST_DEVICE void for_each_tile(const Make& make) const {
    for (u32 index = blockIdx.x / CLUSTER_BLOCKS; index < row_tiles * col_tiles; index += gridDim.x / CLUSTER_BLOCKS) {
      const auto tile = TileOfOut::in_bands<2048 / M_TILE>(index, row_tiles, col_tiles);
      make(tile.row, WARPGROUPS * (APART ? tile.col : tile.col * CLUSTER + rank));
    }
  }
};

// One thread fills the ring. Weights behind the last rows are the last ones again: nobody looks at what becomes of them.
DIECAST_DEVICE void fill(const Ring& ring, const Work& work, const TensorMap& x, const u8* packed, i64 weight_rows) {
  constexpr u32 kRows = Ring::kRows / CLUSTER;  // of x that this thread block brings
  RingFiller<Ring> filler = {ring, x, APART ? 0 : work.rank * kRows};
  const u32 last = static_cast<u32>(ceil_div(weight_rows, 64)) - 1;
  work.for_each_tile([&](u32 row, u32 col) DIECAST_INLINED {
    const i64 strip_bytes = i64{work.depth_tiles} * TILE_BYTES;
    const u8* strips[WARPGROUPS];
    DIECAST_UNROLL
    for (u32 i = 0; i < u32{WARPGROUPS}; ++i) strips[i] = packed + min(col + i, last) * strip_bytes;
    filler.bring(strips, row * M_TILE, kRows / 64, work.begin(), work.end());
  });
}

// Each thread block of the cluster makes some rows of out from all parts.
DIECAST_DEVICE void finish_parts(const Consumer& of, const Rows& to, i64 row, i64 col) {
  constexpr u32 kRows = M_TILE / SPLIT, kHeldRows = Consumer::kHeldRows, kLanes = Consumer::kLanes;
  constexpr u32 kRowBytes = Consumer::kPitch * 4;
  const u32 held = of.ring.held() + of.group * (M_TILE * kRowBytes), first_row = cluster_rank<CLUSTER_BLOCKS>() * kRows;
  asm volatile("bar.sync 1, %0;" ::"n"(128 * WARPGROUPS) : "memory");  // nobody reads the ring any more
  DIECAST_NO_UNROLL
  for (u32 nth = 0; nth < M_TILE / kHeldRows; ++nth) of.put(nth, held + nth * (kHeldRows * kRowBytes));
  cluster_barrier<CLUSTER_BLOCKS>();
  DIECAST_NO_UNROLL
  for (u32 at = first_row + of.thread / kLanes; at < first_row + kRows; at += 128 / kLanes) {
    EightSums first, second;
    first.load_parts<SPLIT>(of.place(held, at));
    if (GATED) second.load_parts<SPLIT>(of.place(held, at) + 32);
    to.store(first, second, row + at, col + of.thread % kLanes * 8);
  }
}

DIECAST_DEVICE void consume(const Ring& ring, const Work& work, const Rows& to) {
  Consumer of(ring);
  work.for_each_tile([&](u32 row, u32 col) DIECAST_INLINED {
    const i64 first_row = i64{row} * M_TILE, first_col = i64{col + of.group} * (8 * Consumer::kLanes);
    if constexpr (APART) {
      of.multiply(work.end() - work.begin());
      finish_parts(of, to, first_row, first_col);
    } else {
      DIECAST_NO_UNROLL
      for (u32 part = 0; part < SPLIT; ++part) {
        of.multiply(work.part(part + 1) - work.part(part));
        if (SPLIT > 1) of.sums.end_part(part == 0);
      }
      of.finish(to, first_row, first_col);
    }
  });
}

DIECAST_KERNEL {
  const Ring ring{shared_address(dynamic_shared<u8>())};
  const i64 weight_rows = GATED ? 2 * cols : cols;
  if (threadIdx.x == 0) ring.make_barriers();
  cluster_barrier<CLUSTER_BLOCKS>();
  if (threadIdx.x >= kThreads) {
    fill_with_few_registers<WARPGROUPS>();
    if (threadIdx.x == kThreads) fill(ring, Work(rows, weight_rows, depth), x_map, packed, weight_rows);
    __syncwarp();
    if (APART)
      Work(rows, weight_rows, depth).for_each_tile([](u32, u32) { cluster_barrier<CLUSTER_BLOCKS>(); });  // of finish_parts()
  } else {
    multiply_with_many_registers<WARPGROUPS>();
    const bool whole = ((reinterpret_cast<u64>(out) | reinterpret_cast<u64>(residual)) & 15) == 0 && cols % 8 == 0;
    constexpr f32 kUnit = PackedTile<FORMAT>::kFactor;
    const auto factor_at = [&](int i) DIECAST_INLINED { return ROW_FACTORS ? kUnit : factor[i] * kUnit; };
    consume(ring, Work(rows, weight_rows, depth),
            {{bias, residual, out, rows, cols, factor_at(0), ALPHA, LIMIT, factor, factor_at(UP_FACTOR)}, whole});
  }
  cluster_barrier<CLUSTER_BLOCKS>();  // others may still write here, or read
}
