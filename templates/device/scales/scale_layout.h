// Where the byte of a block's scale lies. linear: row after row. s128x4, s8x4: tiles of 128 or 8
// rows and 4 scales, tile after tile along a row; rows and columns are padded to whole tiles, and
// whoever writes a tile writes zeros into its padding: a stray NaN there would spoil a product.
/* diecast
option enum LAYOUT {linear, s128x4, s8x4} = linear                // where a block's scale lies
let  LINEAR = LAYOUT == linear
let  SCALE_ROWS = LAYOUT == s128x4 ? 128 : LAYOUT == s8x4 ? 8 : 1 // rows of a tile of scales
let  SCALE_COLS = LINEAR ? 1 : 4                                  // and its columns
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

template <int Layout>
struct ScaleLayout {
  static constexpr int kTileRows = Layout == LAYOUT_s128x4 ? 128 : Layout == LAYOUT_s8x4 ? 8 : 1;
  static constexpr int kTileCols = Layout == LAYOUT_linear ? 1 : 4;

  // Rows and scale columns, padding included.
  DIECAST_DEVICE static i64 padded_rows(i64 rows) { return align_up(rows, kTileRows); }
  DIECAST_DEVICE static i64 padded_cols(i64 cols) { return align_up(cols, kTileCols); }

  // `stride`: bytes from one row to the next (linear), or the padded columns (tiles).
  DIECAST_DEVICE static i64 offset(i64 row, i64 col, i64 stride) {
    if constexpr (Layout == LAYOUT_linear) {
      return row * stride + col;
    } else {
      // A tile of 128 rows is four groups of 32 side by side, four bytes each.
      const i64 tile = (row & -kTileRows) * stride + (col >> 2) * (4 * kTileRows);
      const u32 r = static_cast<u32>(row) & (kTileRows - 1);
      const u32 at = Layout == LAYOUT_s128x4 ? (r & 31) * 16 + (r >> 5) * 4 : r * 4;
      return tile + (at | (static_cast<u32>(col) & 3));
    }
  }
};

}  // namespace diecast
