// The tiles of out of all experts, each of rows of one expert, by offsets or counts: those of an expert one behind another.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/expert_rows.h>
#include <diecast/device/linear/linear_work.h>
#include <diecast/device/threads/prefix_sum.h>

namespace diecast {

// Of a warp, which goes through tiles in ascending order: each lane knows the rows of an expert, of 32 at a time.
template <int Form, int Tile>
class ExpertTiles {
 public:
  // The tile that was found: its first row, the end of its expert's rows, its column in tiles.
  i64 expert = 0, row = 0, end = 0;
  u32 col = 0;

  DIECAST_DEVICE ExpertTiles(const i32* routing, i64 experts, i64 rows, u32 col_tiles)
      : routing_(routing), experts_(experts), rows_(rows), col_tiles_(col_tiles) {}

  // Finds the index-th tile; false: there are not so many.
  DIECAST_DEVICE bool find(i64 index) {
    const i64 row_tile = index / col_tiles_;
    while (row_tile >= before_ + here_) {
      if (first_expert_ + 32 >= experts_) return false;
      next_experts();
    }
    const int lane = __ffs(static_cast<int>(__ballot_sync(~0u, row_tile - before_ < ends_))) - 1;
    const i64 first = __shfl_sync(~0u, range_.first, lane);
    const auto row_tiles = static_cast<u32>(__shfl_sync(~0u, tiles_, lane));
    const i64 before = before_ + __shfl_sync(~0u, ends_, lane) - row_tiles;
    const auto tile = TileOfOut::in_bands<2048 / Tile>(static_cast<u32>(index - before * col_tiles_), row_tiles, col_tiles_);
    expert = first_expert_ + lane, row = first + i64{tile.row} * Tile, end = __shfl_sync(~0u, range_.end, lane);
    col = tile.col;
    return true;
  }

 private:
  DIECAST_DEVICE void next_experts() {
    first_expert_ += 32, before_ += here_;
    const i64 mine = first_expert_ + threadIdx.x % 32;
    range_ = mine < experts_ ? range_of_expert<Form>(routing_, mine, experts_, rows_) : RowRange{0, 0};
    tiles_ = ceil_div(max(range_.end - range_.first, i64{0}), i64{Tile});
    ends_ = warp_prefix_sum(tiles_);
    here_ = sum_of_lanes(ends_);
  }

  const i32* routing_;
  i64 experts_, rows_;
  u32 col_tiles_;
  i64 first_expert_ = -32;     // of those that the lanes have
  i64 before_ = 0, here_ = 0;  // tiles of rows of experts before them; of all of them
  RowRange range_ = {};        // of the lane's expert
  i64 tiles_ = 0, ends_ = 0;   // of its rows; of those and the rows of lanes before
};

}  // namespace diecast
