// linear_experts: a linear layer in which each row takes the weight of its expert: a row of out is, to the bit, what
// `linear` makes of the row with that weight. Row r of out is of row r / fan_out of x. Rows of no expert are not written,
// and of x nothing is read for them. FORM says how rows belong to experts (expert_rows.h).
/* diecast
use      <diecast/device/linear/expert_ids.h>
tune     int   M_TILE {8, 32} = 8                        // rows of x that a thread block takes at a time
launch   grid(ceil_div(GATED ? 2 * cols : cols, 64), FORM == indexed ? min(rows, experts) : experts) block(128) resident(4)
exchange warp                                            // a warp finds the rows of its expert
*/
#include <diecast/device/linear/strip_sums.h>

using Tile = PackedTile<FORMAT>;
using Rows = StripRows<M_TILE>;

// The rows of x that a thread loads, null where there is none.
struct RowsOfX {
  const IN* rows[Rows::kLoaded];
  DIECAST_DEVICE bool has(int i) const { return rows[i] != nullptr; }
  DIECAST_DEVICE const IN* row(int i) const { return rows[i]; }
};

DIECAST_KERNEL {
  using Taken = ExpertRows<FORM, M_TILE, ID, HAS_EXPERT_MAP>;
  const ExpertMap<HAS_EXPERT_MAP> map = {expert_map, HAS_EXPERT_MAP ? global_experts : experts};
  if constexpr (HAS_UNEXPECTED) {  // by the thread blocks of one strip
    if (blockIdx.x == 0)
      count_unexpected<HAS_EXPERT_MAP, ID>(unexpected, map, routing, rows, blockIdx.y * 128 + threadIdx.x, gridDim.y * 128);
  }
  const i64 expert = Taken::expert_at(routing, map, blockIdx.y, experts, rows);
  if (expert < 0 || expert >= experts) return;
  const i64 tiles = ceil_div(depth, Tile::kSide);
  const i64 strip = blockIdx.x, strips = gridDim.x;
  const LinearResult<ACTIVATION, HAS_BIAS, false, IN, OUT> of_all = {bias, nullptr, out, rows, cols, Tile::kFactor, ALPHA, LIMIT};
  const auto result = result_of_expert(of_all, factor, expert);
  const i64 weight_row = strip * Tile::kSide + Tile::row_of(threadIdx.x);
  Taken taken(routing, map, expert, experts, rows);
  while (taken.next()) {
    StripOperands<RowsOfX> of = {packed + (expert * strips + strip) * tiles * Tile::kBytes, {}, depth};
    DIECAST_UNROLL
    for (int i = 0; i < Rows::kLoaded; ++i) {
      const i64 row = taken.row(Rows::loaded(i)), of_x = FORM == FORM_indexed ? row / fan_out : row;
      of.x.rows[i] = Rows::loaded(i) < taken.count() ? &x[of_x * x_stride] : nullptr;
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
