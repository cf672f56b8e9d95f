// Zeros in the rows that pad the last tiles of a tiled layout. Those tiles lie one behind another, so that threads side by
// side write memory side by side, where threads that go along a row would write four bytes in each tile.
#pragma once

#include <diecast/device/base/types.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/scales/scale_layout.h>

namespace diecast {

// The threads that are needed: one for each 16 bytes of the last tiles, if rows pad them. `cols`: of scales. (A launch
// line says the same.)
template <int Layout>
DIECAST_DEVICE void pad_last_tiles(e4m3* scales, i64 rows, i64 cols, i64 thread) {
  constexpr int kTileRows = ScaleLayout<Layout>::kTileRows, kInTile = kTileRows / 4;
  const i64 padded = ScaleLayout<Layout>::padded_cols(cols), first = rows & -kTileRows;
  const int there = static_cast<int>(rows - first);
  if (there == 0 || thread >= padded / 4 * kInTile) return;
  u8* const to = reinterpret_cast<u8*>(scales + first * padded + thread * 16);
  // Of four rows: a tile of 128 has every 32nd side by side, one of 8 neighbours.
  constexpr int kApart = Layout == LAYOUT_s128x4 ? 32 : 1;
  const int row = static_cast<int>(thread) % kInTile * (Layout == LAYOUT_s128x4 ? 1 : 4);
  if (row >= there) {
    store_streaming<16>(to, {});
    return;
  }
  DIECAST_UNROLL
  for (int i = 1; i < 4; ++i) {
    if (row + i * kApart >= there) store_streaming<4>(to + 4 * i, {});
  }
}

}  // namespace diecast
