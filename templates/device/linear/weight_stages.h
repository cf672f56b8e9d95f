// Stages of weights and of few rows of x on their way through shared memory, on Hopper. A producer warp brings them, weights
// by bulk copies, as far ahead as there are stages; each other warp multiplies 16 rows of weights (stage_sums.h). The
// thread blocks of a cluster have a part of the depth each.
/* diecast
use    <diecast/device/linear/linear_options.h>          // TILE_BYTES, SPLIT
tune   int   M_TILE  {8, 16, 32} = 8                     // rows of x that a thread block takes
tune   int   N_TILE  {64, 128} = 64                      // rows of weights that it takes
tune   int   STAGES  {2, 3, 4} = 3                       // that are on their way, each of 256 of the depth
let    STAGE_BYTES = N_TILE / 16 * TILE_BYTES + M_TILE * 528  // tiles of weights, four of a strip; x, whose rows lie in different banks
let    SUM_BYTES   = SPLIT == 1 ? 0 : N_TILE * M_TILE * 4
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/weight_fragments.h>
#include <diecast/device/memory/async_copy.h>
#include <diecast/device/memory/bulk_copy.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/threads/cluster.h>

#if DIECAST_CC >= 90

namespace diecast {

// What is in shared memory, by its places.
template <class OfX, int Format, int MTile, int NTile, int Stages, int Split>
struct WeightStages {
  using X = OfX;
  using Tile = PackedTile<Format>;
  using Fragments = WeightFragments<X, Format>;
  static constexpr int kDeep = 4, kPitch = 128 * kDeep + 16;  // tiles of the depth in a stage; bytes from row to row of x in it
  static constexpr int kRows = MTile, kStages = Stages, kSplit = Split;
  static constexpr int kStrips = NTile / 64, kThreads = 128 * kStrips;  // that multiply
  static constexpr int kPieces = MTile / 8;                             // of 8 rows of x
  static constexpr int kStageBytes = kStrips * kDeep * Tile::kBytes + MTile * kPitch;
  static constexpr int kSumBytes = Split == 1 ? 0 : NTile * MTile * 4;
  using Sums = f32[kPieces][4];

  // A stage, one after another in turns.
  struct Turn {
    u32 slot = 0, parity = 0;
    DIECAST_DEVICE void next() {
      if (++slot == Stages) slot = 0, parity ^= 1;
    }
  };

  u32 stages, sums, full, empty, sent;

  DIECAST_DEVICE WeightStages() {
    stages = shared_address(dynamic_shared<u8>()), sums = stages + Stages * kStageBytes, full = sums + kSumBytes;
    empty = full + 8 * Stages, sent = empty + 8 * Stages;
  }
  DIECAST_DEVICE u32 weights(u32 slot, u32 strip) const { return stages + slot * kStageBytes + strip * (kDeep * Tile::kBytes); }
  DIECAST_DEVICE u32 x(u32 slot) const { return weights(slot, kStrips); }
  DIECAST_DEVICE void begin() const {
    DIECAST_NO_UNROLL
    for (int i = 0; i < Stages; ++i) {
      make_barrier(full + 8 * i, 33);  // who says how many bytes come, and each lane of the producer
      make_barrier(empty + 8 * i, kThreads / 32);
    }
    make_barrier(sent, 1);
    show_barriers();
    if (Split > 1) expect_sums();
  }
  // The bytes that the thread blocks of the cluster send this one.
  DIECAST_DEVICE void expect_sums() const { arrive_and_expect(sent, kSumBytes); }
};

// A thread block's part: strips of weights, tiles of the depth.
template <class Stages>
struct StagedPart {
  u32 first_strip, strips, all_tiles, first_tile, tiles, stages;
  u32 depth;  // of this part

  DIECAST_DEVICE StagedPart(i64 weight_rows, i64 whole_depth) {
    constexpr u32 kSide = Stages::Tile::kSide, kSplit = Stages::kSplit;
    first_strip = blockIdx.x / kSplit * Stages::kStrips;
    strips = min(static_cast<u32>(ceil_div(weight_rows, i64{kSide})) - first_strip, u32{Stages::kStrips});
    all_tiles = static_cast<u32>(ceil_div(whole_depth, i64{kSide}));
    const u32 length = (all_tiles + kSplit - 1) / kSplit;
    first_tile = min(cluster_rank<kSplit>() * length, all_tiles), tiles = min(length, all_tiles - first_tile);
    stages = (tiles + Stages::kDeep - 1) / Stages::kDeep;
    depth = min(static_cast<u32>(whole_depth) - first_tile * kSide, tiles * kSide);
  }
};

// The producer warp. Its lanes bring eight lanes a row of x, four rows at once.
template <class Stages>
struct StageProducer {
  using Tile = typename Stages::Tile;
  using X = typename Stages::X;
  using Part = StagedPart<Stages>;
  const Stages& shared;
  const Part& part;
  u32 lane;
  const u8* weights;  // the lane's strip

  DIECAST_DEVICE StageProducer(const Stages& of, const Part& whole, const u8* packed)
      : shared(of), part(whole), lane(threadIdx.x % 32) {
    weights = packed + (i64{part.first_strip + lane} * part.all_tiles + part.first_tile) * Tile::kBytes;
  }
  DIECAST_DEVICE void bring_weights(u32 stage, u32 slot) const {
    const u32 bytes = min(part.tiles - stage * Stages::kDeep, u32{Stages::kDeep}) * Tile::kBytes, full = shared.full + 8 * slot;
    if (lane == 0) arrive_and_expect(full, part.strips * bytes);
    __syncwarp();
    if (lane < part.strips)
      copy_bulk(shared.weights(slot, lane), weights + i64{stage} * (Stages::kDeep * Tile::kBytes), bytes, full);
  }
  // The lane's first element of a row that begins at `row`.
  DIECAST_DEVICE const X* of_row(const X* row) const { return row + part.first_tile * Tile::kSide + lane % 8 * 8; }
  // row(i): of_row() of the lane's i-th row, if i is below `rows`.
  template <class Row>
  DIECAST_DEVICE void bring_x(u32 stage, u32 slot, u32 rows, const Row& row) const {
    const u32 to = shared.x(slot) + lane / 8 * Stages::kPitch + lane % 8 * 16, at = stage * (Stages::kDeep * 64),
              col = at + lane % 8 * 8;
    DIECAST_NO_UNROLL
    for (u32 tile = 0; tile < Stages::kDeep; ++tile) {
      if (col + tile * 64 >= part.depth) break;
      DIECAST_UNROLL
      for (u32 i = 0; i < Stages::kRows; i += 4) {
        if (i + lane / 8 < rows) copy_async<16>(to + i * Stages::kPitch + tile * 128, row(i) + at + tile * 64, true);
      }
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared.full + 8 * slot) : "memory");
  }
};

}  // namespace diecast

#endif
