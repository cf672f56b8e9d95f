// linear_experts: a linear layer whose rows have a weight each, that of their expert: a row of out is, to the bit, what
// `linear` makes of the row with that weight. Row r of out is of row r / fan_out of x. Rows of no expert are not written,
// and of x nothing is read for them. FORM says how rows belong to experts (expert_rows.h).
/* diecast
use      <diecast/device/linear/linear_options.h>
use      <diecast/device/linear/expert_rows.h>
tune     int   M_TILE {8, 32} = 8                        // rows of x that a thread block takes at a time
size     rows                                            // of out
size     cols                                            // of out
size     depth divisible SCALE_BLOCK
size     experts
size     fan_out                                         // rows of out that a row of x has; 1 unless FORM is indexed
size     global_experts                                  // that ids count, where they are mapped
arg      x        in  IN     [ceil_div(rows, fan_out), depth]  stride  align 16
arg      packed   in  u8     [experts, ceil_div(GATED ? 2 * cols : cols, 64) * ceil_div(depth, 64), TILE_BYTES]  align 16
arg      factor   in  f32    [experts, GATED ? 2 : 1]    // the global scales; where GATED of gate, of what it multiplies
arg      routing  in  ID     [FORM == indexed ? rows : FORM == contiguous ? experts + 1 : experts]
arg      bias     in  IN     [experts, GATED ? 2 * cols : cols]  optional  // where GATED, all gates' of an expert first
arg      expert_map in i32   [global_experts]  optional  // the expert of this weight for each of all, or none, as -1
arg      unexpected inout u32  [1]  optional             // to which the ids are added that are neither of an expert nor -1
arg      out      out OUT    [rows, cols]
arg      rows
arg      cols
arg      depth
arg      experts
arg      fan_out
arg      global_experts
require  FORM == indexed || !HAS_EXPERT_MAP              // ids are mapped, and nothing else
require  FORM == indexed || !HAS_UNEXPECTED              // ids are counted, and nothing else
launch   grid(ceil_div(GATED ? 2 * cols : cols, 64), FORM == indexed ? min(rows, experts) : experts) block(128) resident(4)
exchange warp                                            // a warp finds the rows of its expert
sample   rows {0, 1, 3, 9, 40}  cols {8, 40}  depth {32, 96, 320}  experts {4}  fan_out {1}  global_experts {9}
*/
#include <diecast/device/linear/linear_result.h>
#include <diecast/device/linear/strip_sums.h>

using Tile = PackedTile<FORMAT>;
using Rows = StripRows<M_TILE>;

// The rows of x that a thread loads, null where there is none.
struct RowsOfX {
  const IN* rows[Rows::kLoaded];
  DIECAST_DEVICE bool has(int i) const { return rows[i] != nullptr; }
  DIECAST_DEVICE const IN* row(int i) const { return rows[i]; }
};

// Where sums of the weights' rows r and r + 8 go; a gate has a factor, and what it multiplies has one.
struct ExpertResult {
  LinearResult<ACTIVATION, HAS_BIAS, false, IN, OUT> result;
  const f32* factors;

  DIECAST_DEVICE void store(i64 row, i64 weight_row, f32 first, f32 second) {
    if constexpr (GATED) {
      const i64 col = weight_row / 16 * 8 + weight_row % 8;
      if (col >= result.cols) return;
      result.factor = factors[0] * Tile::kFactor;
      const f32 gate = result.scaled(first, col);
      result.factor = factors[1] * Tile::kFactor;
      const f32 up = result.scaled(second, result.cols + col);
      result.put(row, col, activated<ACTIVATION>(gate, up, ALPHA, LIMIT));
    } else {
      result.store(row, weight_row, first, second);
    }
  }
};

DIECAST_KERNEL {
  using Taken = ExpertRows<FORM, M_TILE, ID, HAS_EXPERT_MAP>;
  const ExpertMap<HAS_EXPERT_MAP> map = {expert_map, HAS_EXPERT_MAP ? global_experts : experts};
  if constexpr (HAS_UNEXPECTED) {  // by the thread blocks of one strip
    if (blockIdx.x == 0) count_unexpected(unexpected, map, routing, rows, blockIdx.y * 128 + threadIdx.x, gridDim.y * 128);
  }
  const i64 expert = Taken::expert_at(routing, map, blockIdx.y, experts, rows);
  if (expert < 0 || expert >= experts) return;
  const i64 weight_rows = GATED ? 2 * cols : cols, tiles = ceil_div(depth, Tile::kSide);
  const i64 strip = blockIdx.x, strips = gridDim.x;
  const f32* factors = factor + expert * (GATED ? 2 : 1);
  ExpertResult result = {
      {HAS_BIAS ? bias + expert * weight_rows : nullptr, nullptr, out, rows, cols, factors[0] * Tile::kFactor, ALPHA, LIMIT},
      factors};
  const i64 weight_row = strip * Tile::kSide + Tile::row_of(threadIdx.x);
  Taken taken(routing, map, expert, experts, rows);
  while (taken.next()) {
    StripOperands<RowsOfX> of = {packed + (expert * strips + strip) * tiles * Tile::kBytes, {}, depth};
    DIECAST_UNROLL
    for (int i = 0; i < Rows::kLoaded; ++i) {
      const i64 row = taken.row(Rows::loaded(i)), of_x = FORM == FORM_indexed ? row / fan_out : row;
      of.x.rows[i] = Rows::loaded(i) < taken.count() ? x + of_x * x_stride : nullptr;
    }
    SumsOfStrip<M_TILE> sums;
    sum_strip<SPLIT, IN, FORMAT, M_TILE>(sums, of);
    DIECAST_UNROLL
    for (int i = 0; i < Rows::kSums; ++i) {
      const i64 row = taken.row(Rows::of_sums(i));
      if (Rows::of_sums(i) < taken.count()) result.store(row, weight_row, sums[i / 2][i % 2], sums[i / 2][2 + i % 2]);
    }
  }
}
