// Operands of a product as numbers in memory: tiles of 128 rows by 64 of the depth in bf16, along the depth and then by rows. Of
// a tile a row is 128 bytes, whose pieces of 16 bytes are turned by the row's number: what wgmma calls a swizzle of 128 bytes.
/* diecast
let TILE_BYTES = 16384
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

struct NumberTiles {
  static constexpr u32 kRows = 128, kDepth = 64, kBytes = kRows * kDepth * 2;

  // Where a row's piece of eight numbers lies in a tile.
  DIECAST_DEVICE static u32 place(u32 row, u32 piece) { return row * 128 + 16 * (piece ^ row % 8); }
};

}  // namespace diecast
