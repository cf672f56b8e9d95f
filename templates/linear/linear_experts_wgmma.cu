// linear_experts_wgmma: linear_experts for many rows of each expert on Hopper, with the same bits.
// A thread block makes tiles of up to M_TILE rows of one expert by 128 or 256 rows of its weight, as linear_wgmma does. The warp
// that fills the ring finds them in what routing holds, and notes with a tile's first stage which one it is. A tile has as many
// columns of sums, 32 or a multiple of 64, as it has rows. Rows of other experts that come with them are multiplied and not stored.
/* diecast
use      <diecast/device/linear/expert_result.h>
tune     int   M_TILE     {32, 64, 128, 192, 256} = 128  // rows of out that a thread block makes
tune     int   WARPGROUPS {2, 4} = 2                     // that multiply: four hide more of the conversion
use      <diecast/device/linear/wgmma_ring.h>
let      HELD_BYTES = WARPGROUPS * 64 * 272              // of sums on their way to out
require  FORM != indexed                                 // rows of an expert are one behind another
require  WARPGROUPS == 4 || M_TILE >= 64                 // two make tiles of 64 rows as fast as of 32
require  WARPGROUPS == 2 || M_TILE <= (SPLIT == 1 ? 64 : 32)  // registers for the sums
require  SPLIT == 1 || M_TILE <= 128                     // registers for the sums of the parts before
launch   grid(min(ceil_div((GATED ? 2 : 1) * cols, 64 * WARPGROUPS) * min(rows, ceil_div(rows, M_TILE) + experts), sm_count))
launch   block(128 * WARPGROUPS + 128) resident(1) dependent
launch   shared(RING + HELD_BYTES + 32 * STAGES)
target   sm_90a
exchange block
*/
#include <diecast/device/linear/expert_tiles.h>
#include <diecast/device/linear/linear_rows.h>
#include <diecast/device/linear/wgmma_consumer.h>

using Ring = WgmmaRing<M_TILE, STAGES, TILE_BYTES, HELD_BYTES, 1, WARPGROUPS>;
using Consumer = WgmmaConsumer<Ring, WgmmaSums<M_TILE, SPLIT, IN>, IN, FORMAT, GATED>;
using Result = LinearResult<ACTIVATION, HAS_BIAS, false, IN, OUT>;
using Rows = LinearRows<ACTIVATION, HAS_BIAS, false, IN, OUT>;

constexpr u32 kThreads = 128 * WARPGROUPS;  // that multiply

// Where a stage has the note of the tile that begins with it: first row, end of the expert's rows, column, expert.
DIECAST_DEVICE u32 note_place(const Ring& ring, Ring::Stage at) { return ring.end() + 16 * at.index; }

// What a thread block knows of the experts' weights.
struct Weights {
  const u8* packed;
  u32 strips, depth_tiles;  // of one expert, 64 rows; 64 columns

  DIECAST_DEVICE const u8* strip(i64 expert, u32 index) const {
    return packed + (expert * strips + min(index, strips - 1)) * (i64{depth_tiles} * TILE_BYTES);
  }
};

// A warp fills the ring. A note without rows is the last one.
DIECAST_DEVICE void fill(const Ring& ring, ExpertTiles<FORM, M_TILE> tiles, const TensorMap& x, const Weights& weights) {
  RingFiller<Ring> filler = {ring, x};
  const bool fills = threadIdx.x % 32 == 0;
  for (i64 index = blockIdx.x; tiles.find(index); index += gridDim.x) {
    if (fills) {
      const auto row = static_cast<u32>(tiles.row), end = static_cast<u32>(tiles.end);
      const u8* strips[WARPGROUPS];
      DIECAST_UNROLL
      for (u32 i = 0; i < u32{WARPGROUPS}; ++i) strips[i] = weights.strip(tiles.expert, WARPGROUPS * tiles.col + i);
      filler.wait();
      store_shared(note_place(ring, filler.at), {row, end, tiles.col, static_cast<u32>(tiles.expert)});
      filler.bring(strips, row, ceil_div(min(end - row, u32{M_TILE}), 64u), 0, weights.depth_tiles);
    }
    __syncwarp();
  }
  if (fills) {
    filler.wait();
    store_shared(note_place(ring, filler.at), {});
    arrive(ring.full(filler.at));
  }
}

// The sums of a tile, of as few columns as hold its rows.
template <int Columns = M_TILE <= 64 ? 32 : 64>
DIECAST_DEVICE void sum_tile(Consumer& of, u32 rows, u32 depth_tiles) {
  if constexpr (Columns < M_TILE) {
    if (rows > u32{Columns}) return sum_tile<Columns / 64 * 64 + 64>(of, rows, depth_tiles);
  }
  DIECAST_NO_UNROLL
  for (u32 part = 0; part < SPLIT; ++part) {
    of.multiply<Columns>(part_of_depth<SPLIT>(part + 1, depth_tiles) - part_of_depth<SPLIT>(part, depth_tiles));
    if (SPLIT > 1) of.sums.end_part<Columns>(part == 0);
  }
}

DIECAST_DEVICE void consume(const Ring& ring, u32 depth_tiles, const Result& of_all, const f32* factors, bool whole) {
  Consumer of(ring);
  for (;;) {
    wait_for_phase(ring.full(of.at), of.at.parity);
    const Vector<16> note = load_shared<16>(note_place(ring, of.at));
    const u32 row = note.words[0], end = note.words[1], col = WARPGROUPS * note.words[2] + of.group;
    if (row == end) return;
    Rows to = {result_of_expert(of_all, factors, note.words[3]), whole};
    to.result.rows = end;
    sum_tile(of, end - row, depth_tiles);
    of.finish(to, row, i64{col} * (8 * Consumer::kLanes));
  }
}

DIECAST_KERNEL {
  const Ring ring{shared_address(dynamic_shared<u8>())};
  const i64 weight_rows = GATED ? 2 * cols : cols;
  const auto depth_tiles = static_cast<u32>(ceil_div(depth, 64));
  if (threadIdx.x == 0) ring.make_barriers();
  __syncthreads();
  if (threadIdx.x >= kThreads) {
    fill_with_few_registers<WARPGROUPS>();
    if (threadIdx.x >= kThreads + 32) return;
    fill(ring, {routing, experts, rows, static_cast<u32>(ceil_div(weight_rows, 64 * WARPGROUPS))}, x_map,
         {packed, static_cast<u32>(ceil_div(weight_rows, 64)), depth_tiles});
  } else {
    multiply_with_many_registers<WARPGROUPS>();
    consume(ring, depth_tiles, {bias, nullptr, out, rows, cols, PackedTile<FORMAT>::kFactor, ALPHA, LIMIT}, factor,
            reinterpret_cast<u64>(out) % 16 == 0 && cols % 8 == 0);
  }
}
