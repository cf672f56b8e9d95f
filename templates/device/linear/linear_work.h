// How the work of a linear layer on Hopper is cut: out into tiles, in an order that reads weights and x from memory once; the
// depth into parts.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// A tile of out, in tiles. Bands of `Band` rows of tiles, and in them rows first: what is read meanwhile stays in the cache.
struct TileOfOut {
  u32 row, col;

  template <int Band>
  DIECAST_DEVICE static TileOfOut in_bands(u32 index, u32 row_tiles, u32 col_tiles) {
    const u32 band = index / (Band * col_tiles), in_band = index - band * (Band * col_tiles);
    const u32 wide = min(u32{Band}, row_tiles - band * Band), col = in_band / wide;
    return {band * Band + in_band - col * wide, col};
  }
};

// Where the nth of the depth's parts begins, in tiles of 64.
template <int Split>
DIECAST_DEVICE u32 part_of_depth(u32 nth, u32 depth_tiles) {
  return min(nth * ((depth_tiles + Split - 1) / Split), depth_tiles);
}

}  // namespace diecast
