// linear_wgmma: what linear.cu gives, to the bit, for many rows of x on Hopper.
// A thread block makes tiles of M_TILE rows of out by 128 rows of weights. One thread brings x and weights, 64 of the depth at a
// time, into a ring in shared memory. Two warpgroups have 64 rows of weights each: they convert a tile's weights in registers
// while wgmma multiplies the tile before. Parts of the depth (SPLIT) are made one behind the other, or, APART, each by a thread
// block of a cluster, which add them.
/* diecast
use      <diecast/device/linear/linear_result.h>
tune     int   M_TILE  {64, 128, 192, 256} = 128         // rows of out that a thread block makes
tune     int   CLUSTER {1, 2} = 1                        // thread blocks that share rows of x
tune     bool  APART   = false                           // the parts of the depth are of thread blocks of their own
let      STAGES         = M_TILE == 256 ? 5 : M_TILE == 192 ? 6 : M_TILE == 128 ? 8 : 10  // of the ring
let      CLUSTER_BLOCKS = APART ? SPLIT : CLUSTER        // thread blocks of a cluster
let      X_BYTES        = M_TILE * 128                   // of a stage
let      RING           = STAGES * (X_BYTES + 2 * TILE_BYTES)
let      HELD_BYTES     = APART ? 0 : 2 * 64 * 272       // of sums on their way to out; APART they lie where the ring was
arg      x_map      tensor_map                           // of x: boxes of 64 rows by 64, turned by 128 bytes
require  M_TILE % (64 * CLUSTER) == 0                    // a thread block of a cluster brings whole boxes
require  !APART || (SPLIT > 1 && CLUSTER == 1)           // a cluster has one purpose
require  APART || SPLIT == 1 || M_TILE <= 128            // registers for the sums of the parts before
launch   grid(CLUSTER_BLOCKS * min(ceil_div((GATED ? 2 : 1) * cols, 128 * CLUSTER) * ceil_div(rows, M_TILE),
                                   APART ? 1 << 30 : max(sm_count / CLUSTER, 1)))
launch   block(384) resident(1) cluster(CLUSTER_BLOCKS) dependent
launch   shared(RING + HELD_BYTES + 16 * STAGES)
target   sm_90a
exchange block
*/
#include <diecast/device/linear/linear_rows.h>
#include <diecast/device/linear/weight_fragments.h>
#include <diecast/device/linear/wgmma_sums.h>
#include <diecast/device/memory/bulk_copy.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/threads/cluster.h>

using Sums = WgmmaSums<M_TILE, APART ? 1 : SPLIT, IN>;
using Weights = WeightFragments<IN, FORMAT>;
using Rows = LinearRows<ACTIVATION, HAS_BIAS, HAS_RESIDUAL, IN, OUT>;

constexpr int kPitch = 68;                     // floats from a row of 64 sums to the next: a warp's stores meet in no bank
constexpr int kHeldRows = 32;                  // rows of out whose sums are put at once
constexpr int kLanes = (GATED ? 32 : 64) / 8;  // threads that make a row of out of 64 sums, eight elements each

// A stage of the ring: as many turns as there are tiles of the depth.
struct Stage {
  u32 index = 0, parity = 0;
  DIECAST_DEVICE void next() {
    if (++index == STAGES) index = 0, parity ^= 1;
  }
};

// The ring: x, then weights, of all stages; where sums are held; barriers of stages that are full, that are empty.
struct Ring {
  u32 begin;
  DIECAST_DEVICE u32 x(Stage at) const { return begin + at.index * X_BYTES; }
  DIECAST_DEVICE u32 weights(Stage at) const { return begin + STAGES * X_BYTES + at.index * (2 * TILE_BYTES); }
  DIECAST_DEVICE u32 held() const { return begin + (APART ? 0 : RING); }
  DIECAST_DEVICE u32 full(Stage at) const { return begin + RING + HELD_BYTES + 8 * at.index; }
  DIECAST_DEVICE u32 empty(Stage at) const { return full(at) + 8 * STAGES; }
};

// What this thread block does: some tiles of out, and of the depth all or a part.
struct Work {
  u32 row_tiles, col_tiles, depth_tiles, rank;

  // Of a cluster's thread blocks: the tiles of out by rows of weights.
  DIECAST_DEVICE Work(i64 rows, i64 weight_rows, i64 depth)
      : row_tiles(static_cast<u32>(ceil_div(rows, M_TILE))),
        col_tiles(static_cast<u32>(ceil_div(weight_rows, 128 * CLUSTER))),
        depth_tiles(static_cast<u32>(ceil_div(depth, 64))),
        rank(cluster_rank<CLUSTER_BLOCKS>()) {}
  DIECAST_DEVICE u32 part(u32 nth) const { return min(nth * ((depth_tiles + SPLIT - 1) / SPLIT), depth_tiles); }
  DIECAST_DEVICE u32 begin() const { return APART ? part(rank) : 0; }
  DIECAST_DEVICE u32 end() const { return APART ? part(rank + 1) : depth_tiles; }

  // Bands of 2048 rows of out, and in them rows of tiles first: what is read meanwhile stays in the cache. The row in
  // tiles, the column in 64 rows of weights, for the first warpgroup.
  template <class Make>
  DIECAST_DEVICE void for_each_tile(const Make& make) const {
    constexpr u32 kBand = 2048 / M_TILE;
    for (u32 index = blockIdx.x / CLUSTER_BLOCKS; index < row_tiles * col_tiles; index += gridDim.x / CLUSTER_BLOCKS) {
      const u32 band = index / (kBand * col_tiles), in_band = index - band * (kBand * col_tiles);
      const u32 wide = min(kBand, row_tiles - band * kBand), col = in_band / wide;
      make(band * kBand + in_band - col * wide, 2 * (APART ? col : col * CLUSTER + rank));
    }
  }
};

// One thread fills the ring. Weights behind the last rows are the last ones again: nobody looks at what becomes of them.
DIECAST_DEVICE void fill(const Ring& ring, const Work& work, const TensorMap& x, const u8* packed, i64 weight_rows) {
  constexpr u32 kRows = M_TILE / CLUSTER;  // of x that this thread block brings
  const u32 first_row = APART ? 0 : work.rank * kRows, last = static_cast<u32>(ceil_div(weight_rows, 64)) - 1;
  Stage at;
  work.for_each_tile([&](u32 row, u32 col) DIECAST_INLINED {
    for (u32 depth = work.begin(); depth < work.end(); ++depth, at.next()) {
      wait_for_phase(ring.empty(at), at.parity ^ 1);
      arrive_and_expect(ring.full(at), X_BYTES + 2 * TILE_BYTES);
      DIECAST_UNROLL
      for (u32 group = 0; group < 2; ++group) {
        const u64 tile = u64{min(col + group, last)} * work.depth_tiles + depth;
        copy_bulk(ring.weights(at) + group * TILE_BYTES, packed + tile * TILE_BYTES, TILE_BYTES, ring.full(at));
      }
      DIECAST_UNROLL
      for (u32 box = first_row; box < first_row + kRows; box += 64) {
        copy_box<CLUSTER>(ring.x(at) + box * 128, x, static_cast<i32>(row * M_TILE + box), static_cast<i32>(depth * 64),
                          ring.full(at));
      }
    }
  });
}

// A thread of the two warpgroups.
struct Consumer {
  Sums sums;
  Ring ring;
  u32 rank;  // of the thread block in its cluster
  u32 group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = threadIdx.x % 32;
  u32 codes = held(group * TILE_BYTES + thread * 16);
  u32 scales = held(group * TILE_BYTES + PackedTile<FORMAT>::kCodeBytes + thread / 4 * Weights::kScaleBytes);
  Stage at;

  DIECAST_DEVICE Consumer(const Ring& of, u32 own) : ring(of), rank(own) {}

  // The next stage's weights as wgmma takes them, by steps of 16 of the depth.
  DIECAST_DEVICE void convert(u32 (&a)[4][4]) const {
    wait_for_phase(ring.full(at), at.parity);
    const u32 from = ring.weights(at);
    const Weights weights = {load_shared<16>(from + codes), load_shared<Weights::kScaleBytes>(from + scales)};
    DIECAST_UNROLL
    for (int step = 0; step < 4; ++step) weights.step(step, a[step]);
  }

  // A warp is done with a stage, of which all thread blocks that share x are told.
  DIECAST_DEVICE void leave(u32 empty) const {
    if (lane < CLUSTER) arrive_at(empty, APART ? rank : lane);
  }

  // Adds the products of some tiles of the depth. While those of one run, the weights of the next are converted.
  DIECAST_DEVICE void multiply(u32 tiles) {
    sums.begin();
    if (tiles == 0) return;
    u32 a[2][4][4], empty = 0;
    convert(a[0]);
    DIECAST_NO_UNROLL
    for (u32 tile = 0; tile < tiles;) {
      DIECAST_UNROLL
      for (int half = 0; half < 2; ++half) {
        if (half == 1 && tile == tiles) break;
        sums.add(a[half], ring.x(at));
        sums.template wait<1>();
        if (tile > 0) leave(empty);
        empty = ring.empty(at);
        at.next();
        if (++tile < tiles) convert(a[1 - half]);
      }
    }
    sums.template wait<0>();
    leave(empty);
  }

  // Puts the sums of 32 rows of out, one of `nth`, so that a row's 64 follow each other.
  template <int Nth>
  DIECAST_DEVICE void put_rows(u32 to) const {
    if constexpr (Nth < M_TILE / kHeldRows) {
      sums.template put<4 * Nth, kPitch>(to);
      sums.template put<4 * Nth + 1, kPitch>(to + 8 * 4 * kPitch);
      sums.template put<4 * Nth + 2, kPitch>(to + 16 * 4 * kPitch);
      sums.template put<4 * Nth + 3, kPitch>(to + 24 * 4 * kPitch);
    }
  }
  DIECAST_DEVICE void put(u32 nth, u32 to) const {
    to += (lane % 4 * 2 * kPitch + thread / 32 * 16 + lane / 4) * 4;
    switch (nth) {
      case 0:
        return put_rows<0>(to);
      case 1:
        return put_rows<1>(to);
      case 2:
        return put_rows<2>(to);
      case 3:
        return put_rows<3>(to);
      case 4:
        return put_rows<4>(to);
      case 5:
        return put_rows<5>(to);
      case 6:
        return put_rows<6>(to);
      case 7:
        return put_rows<7>(to);
    }
  }
  // Where the thread's sums of a row that was put lie.
  DIECAST_DEVICE u32 place(u32 held, u32 row) const { return held + (row * kPitch + thread % kLanes * (64 / kLanes)) * 4; }
};

// The sums go through shared memory, so that neighbouring threads store neighbours: 32 rows at a time, in two places by turns.
DIECAST_DEVICE void finish(const Consumer& of, const Rows& to, i64 row, i64 col) {
  DIECAST_NO_UNROLL
  for (u32 nth = 0; nth < M_TILE / kHeldRows && row < to.result.rows; ++nth, row += kHeldRows) {
    const u32 held = of.ring.held() + (of.group * 2 + nth % 2) * (kHeldRows * kPitch * 4);
    of.put(nth, held);
    asm volatile("bar.sync %0, 128;" ::"r"(of.group + 1) : "memory");
    DIECAST_UNROLL
    for (u32 i = 0; i < kHeldRows; i += 128 / kLanes) {
      const u32 at = i + of.thread / kLanes;
      EightSums first, second;
      first.load(of.place(held, at));
      if (GATED) second.load(of.place(held, at) + 32);
      to.store(first, second, row + at, col + of.thread % kLanes * 8);
    }
  }
}

// Each thread block of the cluster makes some rows of out from all parts.
DIECAST_DEVICE void finish_parts(const Consumer& of, const Rows& to, i64 row, i64 col) {
  constexpr u32 kRows = M_TILE / SPLIT;
  const u32 held = of.ring.held() + of.group * (M_TILE * kPitch * 4), first_row = of.rank * kRows;
  asm volatile("bar.sync 1, 256;" ::: "memory");  // nobody reads the ring any more
  DIECAST_NO_UNROLL
  for (u32 nth = 0; nth < M_TILE / kHeldRows; ++nth) of.put(nth, held + nth * (kHeldRows * kPitch * 4));
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
  Consumer of(ring, work.rank);
  work.for_each_tile([&](u32 row, u32 col) DIECAST_INLINED {
    const i64 first_row = i64{row} * M_TILE, first_col = i64{col + of.group} * (8 * kLanes);
    if constexpr (APART) {
      of.multiply(work.end() - work.begin());
      finish_parts(of, to, first_row, first_col);
    } else {
      DIECAST_NO_UNROLL
      for (u32 part = 0; part < SPLIT; ++part) {
        of.multiply(work.part(part + 1) - work.part(part));
        if (SPLIT > 1) of.sums.end_part(part == 0);
      }
      finish(of, to, first_row, first_col);
    }
  });
}

DIECAST_KERNEL {
  const Ring ring{shared_address(dynamic_shared<u8>())};
  const i64 weight_rows = GATED ? 2 * cols : cols;
  if (threadIdx.x == 0) {
    for (Stage at; at.parity == 0; at.next()) {
      make_barrier(ring.full(at), 1);
      make_barrier(ring.empty(at), 8 * CLUSTER);  // warps
    }
    show_barriers();
  }
  cluster_barrier<CLUSTER_BLOCKS>();
  if (threadIdx.x >= 256) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
    if (threadIdx.x == 256) fill(ring, Work(rows, weight_rows, depth), x_map, packed, weight_rows);
    __syncwarp();
    if (APART)
      Work(rows, weight_rows, depth).for_each_tile([](u32, u32) { cluster_barrier<CLUSTER_BLOCKS>(); });  // of finish_parts()
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
    const u64 places = reinterpret_cast<u64>(out) | reinterpret_cast<u64>(residual) | static_cast<u64>(cols) * sizeof(OUT);
    consume(ring, Work(rows, weight_rows, depth),
            {{bias, residual, out, rows, cols, *factor * PackedTile<FORMAT>::kFactor, ALPHA, LIMIT}, places % 16 == 0});
  }
  cluster_barrier<CLUSTER_BLOCKS>();  // others may still write here, or read
}
