// Four neighbouring scale columns of the 16 rows of a row of tiles: 16x16 blocks store the same byte
// in all rows of a tile, and zeros in the padding.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/scales/scale_layout.h>

namespace diecast {

struct ScaleRows {
  u8* scales;
  i64 rows;                      // that count
  i64 padded_rows, padded_cols;  // of the matrix

  // `bytes`: of columns col up to col + 3, the first in the low byte and zeros for padding; col is a
  // multiple of 4 and below padded_cols.
  template <int Layout>
  DIECAST_DEVICE void store(i64 row, i64 col, u32 bytes) const {
    const int count = static_cast<int>(min(padded_cols - col, 4ll));
    const bool whole = padded_cols % 4 == 0 && reinterpret_cast<u64>(scales) % 4 == 0;
    const i64 end = min(row + 16, padded_rows);
    DIECAST_NO_UNROLL
    for (i64 r = row; r < end; ++r) {
      const u32 out = r < rows ? bytes : 0;
      u8* at = scales + ScaleLayout<Layout>::offset(r, col, padded_cols);
      if (whole) {
        *reinterpret_cast<u32*>(at) = out;
      } else {
        DIECAST_NO_UNROLL
        for (int i = 0; i < count; ++i) at[i] = static_cast<u8>(out >> (8 * i));
      }
    }
  }
};

}  // namespace diecast
