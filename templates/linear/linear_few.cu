// linear_few: linear for few rows, with its bits, on Hopper: the time is that of reading the weights. A producer warp brings
// stages of weights, by bulk copies, and of x to shared memory, as far ahead as there are stages; each other warp multiplies
// 16 rows of weights. The thread blocks of a cluster take a part of the depth each, and send each other their sums.
/* diecast
use      <diecast/device/linear/linear_result.h>
shape    bool  SETTLED = false                           // no kernel before writes packed: it is read before that one has ended
tune     int   M_TILE  {8, 16, 32} = 8                   // rows of x that a thread block takes
tune     int   N_TILE  {64, 128} = 64                    // rows of weights that it takes
tune     int   STAGES  {2, 3, 4} = 3                     // that are on their way, each of 256 of the depth
tune     int   WARP_ROWS {16, 32} = 16                   // rows of weights that a warp takes: with 32 they share its loads of x
let      STAGE_BYTES = N_TILE / 16 * TILE_BYTES + M_TILE * 528  // tiles of weights, four of a strip; x, whose rows lie in different banks
let      SUM_BYTES   = SPLIT == 1 ? 0 : N_TILE * M_TILE * 4
launch   grid(ceil_div(GATED ? 2 * cols : cols, N_TILE) * SPLIT, ceil_div(rows, M_TILE)) block(32 * N_TILE / WARP_ROWS + 32)
launch   shared(STAGES * STAGE_BYTES + SUM_BYTES + 16 * STAGES + 16) cluster(SPLIT) dependent(late)
require  WARP_ROWS == 16 || (M_TILE == 32 && N_TILE == 128)  // fewer rows of x are loaded fast enough
target   sm_90a
exchange block
*/
#include <diecast/device/linear/weight_fragments.h>
#include <diecast/device/memory/async_copy.h>
#include <diecast/device/memory/bulk_copy.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/threads/cluster.h>
#include <diecast/device/threads/dependent.h>

using Tile = PackedTile<FORMAT>;
using Fragments = WeightFragments<IN, FORMAT>;

constexpr int kDeep = 4, kPitch = 128 * kDeep + 16;  // tiles of the depth in a stage; bytes from row to row of x in it
constexpr int kWarpStrips = WARP_ROWS / 16;          // of which a warp has 16 rows each
constexpr int kStrips = N_TILE / 64, kThreads = 128 * kStrips / kWarpStrips;  // that multiply
constexpr int kPieces = M_TILE / 8;                                           // of 8 rows of x
using Sums = f32[kWarpStrips * kPieces][4];

// A thread block's part: strips of weights, tiles of the depth, rows of x.
struct Part {
  u32 first_strip, strips, all_tiles, first_tile, tiles, stages;
  i64 first_row;
  u32 depth;  // of this part

  DIECAST_DEVICE Part(i64 weight_rows, i64 whole_depth) {
    first_strip = blockIdx.x / SPLIT * kStrips;
    strips = min(static_cast<u32>(ceil_div(weight_rows, Tile::kSide)) - first_strip, u32{kStrips});
    all_tiles = static_cast<u32>(ceil_div(whole_depth, Tile::kSide));
    const u32 length = (all_tiles + SPLIT - 1) / SPLIT;
    first_tile = min(cluster_rank<SPLIT>() * length, all_tiles), tiles = min(length, all_tiles - first_tile);
    stages = (tiles + kDeep - 1) / kDeep;
    depth = min(static_cast<u32>(whole_depth) - first_tile * Tile::kSide, tiles * Tile::kSide);
    first_row = i64{blockIdx.y} * M_TILE;
  }
  // Of x, which has `all` rows.
  DIECAST_DEVICE u32 rows(i64 all) const { return static_cast<u32>(max(min(all - first_row, i64{M_TILE}), i64{0})); }
};

// What is in shared memory, by its places.
struct Shared {
  u32 stages, sums, full, empty, sent;

  DIECAST_DEVICE Shared() {
    stages = shared_address(dynamic_shared<u8>()), sums = stages + STAGES * STAGE_BYTES, full = sums + SUM_BYTES;
    empty = full + 8 * STAGES, sent = empty + 8 * STAGES;
  }
  DIECAST_DEVICE u32 weights(u32 slot, u32 strip) const { return stages + slot * STAGE_BYTES + strip * (kDeep * Tile::kBytes); }
  DIECAST_DEVICE u32 x(u32 slot) const { return weights(slot, kStrips); }
  DIECAST_DEVICE void begin() const {
    DIECAST_NO_UNROLL
    for (int i = 0; i < STAGES; ++i) {
      make_barrier(full + 8 * i, 33);  // who says how many bytes come, and each lane of the producer
      make_barrier(empty + 8 * i, kThreads / 32);
    }
    make_barrier(sent, 1);
    show_barriers();
    if (SPLIT > 1) arrive_and_expect(sent, SUM_BYTES);
  }
};

// The producer warp.
struct Producer {
  const Shared& shared;
  const Part& part;
  u32 lane;
  const u8* weights;  // the lane's strip
  const IN* x;        // the lane's first piece of 8
  i64 stride;

  DIECAST_DEVICE Producer(const Shared& of, const Part& whole, const u8* packed, const IN* all_x, i64 x_stride)
      : shared(of), part(whole), lane(threadIdx.x % 32), stride(x_stride) {
    weights = packed + (i64{part.first_strip + lane} * part.all_tiles + part.first_tile) * Tile::kBytes;
    x = all_x + (part.first_row + lane / 8) * stride + part.first_tile * Tile::kSide + lane % 8 * 8;
  }
  DIECAST_DEVICE void bring_weights(u32 stage, u32 slot) const {
    const u32 bytes = min(part.tiles - stage * kDeep, u32{kDeep}) * Tile::kBytes, full = shared.full + 8 * slot;
    if (lane == 0) arrive_and_expect(full, part.strips * bytes);
    __syncwarp();
    if (lane < part.strips) copy_bulk(shared.weights(slot, lane), weights + i64{stage} * (kDeep * Tile::kBytes), bytes, full);
  }
  // Eight lanes a row, four rows at once.
  DIECAST_DEVICE void bring_x(u32 stage, u32 slot, u32 rows) const {
    const u32 to = shared.x(slot) + lane / 8 * kPitch + lane % 8 * 16, at = stage * (kDeep * 64), col = at + lane % 8 * 8;
    DIECAST_NO_UNROLL
    for (u32 tile = 0; tile < kDeep; ++tile) {
      if (col + tile * 64 >= part.depth) break;
      DIECAST_UNROLL
      for (u32 row = 0; row < M_TILE; row += 4) {
        if (row + lane / 8 < rows) copy_async<16>(to + row * kPitch + tile * 128, x + row * stride + at + tile * 64, true);
      }
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared.full + 8 * slot) : "memory");
  }
};

// Eight rows of x by 32 of the depth: the registers of two steps.
DIECAST_DEVICE void load_matrices(u32 (&to)[4], u32 from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from));
}

// Adds the products of a tile; of `steps` of it, if not Whole.
template <bool Whole>
DIECAST_DEVICE void add_tile(Sums& sums, u32 weights, u32 of_x, int steps) {
  const u32 thread = threadIdx.x % 128, lane = threadIdx.x % 32;
  Fragments fragments[kWarpStrips];
  DIECAST_UNROLL
  for (int i = 0; i < kWarpStrips; ++i) {
    const u32 tile = weights + i * (kDeep * Tile::kBytes);
    fragments[i] = {load_shared<16>(tile + thread * 16),
                    load_shared<Fragments::kScaleBytes>(tile + Tile::kCodeBytes + thread / 4 * Fragments::kScaleBytes)};
  }
  of_x += lane % 8 * kPitch + lane / 8 * 16;
  DIECAST_UNROLL
  for (int two = 0; two < 2; ++two) {
    if (!Whole && 2 * two >= steps) break;
    u32 a[kWarpStrips][2][4];
    DIECAST_UNROLL
    for (int i = 0; i < 2 * kWarpStrips; ++i) fragments[i / 2].step(2 * two + i % 2, a[i / 2][i % 2]);
    DIECAST_UNROLL
    for (int piece = 0; piece < kPieces; ++piece) {
      u32 b[4];
      load_matrices(b, of_x + piece * (8 * kPitch) + two * 64);
      DIECAST_UNROLL
      for (int i = 0; i < kWarpStrips; ++i) {
        f32(&to)[4] = sums[i * kPieces + piece];
        add_products<IN>(to, a[i][0], b[0], b[1]);
        if (Whole || 2 * two + 1 < steps) add_products<IN>(to, a[i][1], b[2], b[3]);
      }
    }
  }
}

DIECAST_DEVICE void add_stages(Sums& sums, const Shared& shared, const Part& part) {
  int steps = static_cast<int>(part.depth / 16);
  u32 slot = 0, parity = 0;
  DIECAST_NO_UNROLL
  for (u32 i = part.stages; i > 0; --i) {
    wait_for_phase(shared.full + 8 * slot, parity);
    const u32 weights = shared.weights(slot, threadIdx.x / 128 * kWarpStrips), x = shared.x(slot);
    if (steps >= 4 * kDeep) {
      DIECAST_UNROLL
      for (int tile = 0; tile < kDeep; ++tile) add_tile<true>(sums, weights + tile * Tile::kBytes, x + tile * 128, 4);
    } else {
      DIECAST_NO_UNROLL
      for (int tile = 0; 4 * tile < steps; ++tile)
        add_tile<false>(sums, weights + tile * Tile::kBytes, x + tile * 128, steps - 4 * tile);
    }
    steps -= 4 * kDeep;
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(shared.empty + 8 * slot);
    if (++slot == STAGES) slot = 0, parity ^= 1;
  }
}

// Each thread block of a cluster finishes the sums of some threads of all.
constexpr u32 kShare = kThreads / SPLIT, kOfThread = kWarpStrips * kPieces;

// Sums of a thread to where they are finished, behind those of the blocks of lower rank.
DIECAST_DEVICE void send(const Shared& shared, const Sums& sums) {
  const u32 thread = threadIdx.x, place = cluster_rank<SPLIT>() * kShare + thread % kShare;
  DIECAST_UNROLL
  for (int i = 0; i < kOfThread; ++i) {
    asm volatile(
        "{\n .reg .b32 to, bar;\n mapa.shared::cluster.u32 to, %0, %2;\n mapa.shared::cluster.u32 bar, %1, %2;\n"
        " st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [to], {%3, %4, %5, %6}, [bar];\n}" ::"r"(
            shared.sums + (place * kOfThread + i) * 16),
        "r"(shared.sent), "r"(thread / kShare), "f"(sums[i][0]), "f"(sums[i][1]), "f"(sums[i][2]), "f"(sums[i][3])
        : "memory");
  }
}

// The sums of all parts of one thread's piece, added in order.
DIECAST_DEVICE void total(f32 (&sums)[4], const Shared& shared, u32 item) {
  DIECAST_UNROLL
  for (int rank = 0; rank < SPLIT; ++rank) {
    const Vector<16> part = load_shared<16>(shared.sums + (rank * kShare * kOfThread + item) * 16);
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      const f32 sum = __uint_as_float(part.words[i]);
      sums[i] = rank == 0 ? sum : __fadd_rn(sums[i], sum);
    }
  }
}

// What each stage is filled with first, then what follows as soon as it is empty.
DIECAST_DEVICE void produce(const Producer& producer, const Part& part, const DeviceSize& all_rows) {
  const u32 ahead = min(part.stages, u32{STAGES});
  launch_before_ended();
  if (!SETTLED) {
    DIECAST_NO_UNROLL
    for (u32 i = 0; i < ahead; ++i) producer.bring_weights(i, i);
  }
  const u32 rows = part.rows(all_rows.count());
  DIECAST_NO_UNROLL
  for (u32 i = 0; i < ahead; ++i) producer.bring_x(i, i, rows);
  u32 slot = 0, parity = 0;
  DIECAST_NO_UNROLL
  for (u32 i = STAGES; i < part.stages; ++i) {
    wait_for_phase(producer.shared.empty + 8 * slot, parity);
    producer.bring_weights(i, slot);
    producer.bring_x(i, slot, rows);
    if (++slot == STAGES) slot = 0, parity ^= 1;
  }
  next_may_begin(slot);
}

DIECAST_KERNEL {
  const Shared shared;
  const Part part(GATED ? 2 * cols : cols, depth);
  const bool produces = threadIdx.x >= kThreads;
  const Producer producer(shared, part, packed, x, x_stride);
  if (produces) {
    if (producer.lane == 0) shared.begin();
    __syncwarp();
    if (SETTLED) {
      DIECAST_NO_UNROLL
      for (u32 i = 0; i < min(part.stages, u32{STAGES}); ++i) producer.bring_weights(i, i);
    }
  }
  __syncthreads();
  if (SPLIT > 1) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  Sums sums = {};
  if (produces) {
    produce(producer, part, rows);
  } else {
    add_stages(sums, shared, part);
  }
  if (SPLIT > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  if (produces) return;
  launch_before_ended();
  const LinearResult<ACTIVATION, HAS_BIAS, HAS_RESIDUAL, IN, OUT> result = {
      bias, residual, out, rows.count(), cols, *factor * Tile::kFactor, ALPHA, LIMIT};
  const auto finish = [&](u32 thread, u32 nth, const f32(&of)[4]) {
    const u32 strip = part.first_strip + thread / 128 * kWarpStrips + nth / kPieces;
    const i64 row = part.first_row + nth % kPieces * 8 + thread % 4 * 2,
              weight_row = i64{strip} * Tile::kSide + Tile::row_of(thread % 128);
    result.store(row, weight_row, of[0], of[2]);
    result.store(row + 1, weight_row, of[1], of[3]);
  };
  if constexpr (SPLIT == 1) {
    DIECAST_UNROLL
    for (u32 i = 0; i < kOfThread; ++i) finish(threadIdx.x, i, sums[i]);
  } else {
    send(shared, sums);
    wait_for_phase(shared.sent, 0);
    DIECAST_NO_UNROLL
    for (u32 item = threadIdx.x; item < kShare * kOfThread; item += kThreads) {
      total(sums[0], shared, item);
      finish(cluster_rank<SPLIT>() * kShare + item / kOfThread, item % kOfThread, sums[0]);
    }
  }
}
