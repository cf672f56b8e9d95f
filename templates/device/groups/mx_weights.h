// Sharded weights in MXFP8: units of 32 rows, and where the maxima of blocks lie: of a weight first
// those of its rows' blocks, row after row, then those of its columns' blocks, 32 rows after 32 rows.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/groups/weights.h>

namespace diecast {

// 32 rows of the shard by kShardUnitCols columns; units stand row after row of squares.
struct MxUnit {
  const Weight* weight;
  i64 row, col, col_end;

  DIECAST_DEVICE MxUnit(const Weight* all, u32 count, u32 unit) : weight(all + weight_of_unit(all, count, kShardUnits, unit)) {
    const u32 within = unit - weight->unit_begin[kShardUnits];
    const u32 in_row = static_cast<u32>(ceil_div(weight->cols, kShardUnitCols));
    const u32 square_row = within / in_row;
    row = weight->row_begin + i64{square_row} * 32;
    col = i64{within - square_row * in_row} * kShardUnitCols;
    col_end = min(col + kShardUnitCols, weight->cols);
  }
};

struct MxMaxima {
  f32* rowwise;
  f32* columnwise;
  i64 row_blocks, cols;

  DIECAST_DEVICE MxMaxima(const Weight& w, f32* all)
      : rowwise(all + w.first_tile), row_blocks(ceil_div(w.cols, 32)), cols(w.cols) {
    columnwise = rowwise + w.rows * row_blocks;
  }
  DIECAST_DEVICE f32* of_row(i64 row, i64 col) const { return rowwise + row * row_blocks + col / 32; }
  DIECAST_DEVICE f32* of_column(i64 row, i64 col) const { return columnwise + row / 32 * cols + col; }
};

}  // namespace diecast
