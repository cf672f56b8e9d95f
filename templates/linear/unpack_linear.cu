// unpack_linear: packed tiles back to a checkpoint's codes and scales: the inverse of pack_linear, to
// the bit where scales are positive and can be held. What was packed as a zero or negative scale comes
// back as equal values: zero codes with the scale of one, turned signs with a positive scale.
/* diecast
use      <diecast/device/linear/packed_tile.h>           // FORMAT
option   enum  GATED {none, halves, alternate} = none    // how rows of gate and up lie
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64} = 64                   // the most thread blocks a multiprocessor gets
size     batch                                           // weights
size     rows  divisible (GATED == none ? 1 : 16)        // rows of a weight
size     cols  divisible SCALE_BLOCK                     // columns of a weight
arg      packed  in   u8  [batch, ceil_div(rows, 64) * ceil_div(cols, 64) * TILE_BYTES]  align 16
arg      codes   out  u8  [batch, rows, cols / 2]  align 8
arg      scales  out  u8  [batch, rows, cols / SCALE_BLOCK]
arg      batch
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(batch * rows * (cols / 16), THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   batch {1}  rows {0, 1, 9, 70, 130}  cols {0, 16, 32, 64, 96, 320}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/threads/row_walk.h>

using Tile = PackedTile<FORMAT>;

// The row that the weight's row is packed as.
DIECAST_DEVICE i64 packed_row(i64 row, i64 rows) {
  if constexpr (GATED == GATED_none) return row;
  const bool up = GATED == GATED_halves ? row >= rows / 2 : row % 2 == 1;
  const i64 of_half = GATED == GATED_halves ? row - (up ? rows / 2 : 0) : row / 2;
  return of_half / 8 * 16 + of_half % 8 + (up ? 8 : 0);
}

// A pair of codes as the byte that a checkpoint has.
DIECAST_DEVICE u32 byte_of(u32 pair) {
  return (pair >> 6 & 0x07u) | (pair >> 12 & 0x08u) | (pair >> 18 & 0x70u) | (pair >> 24 & 0x80u);
}

// One thread 16 codes of a row, and the scale of the block that begins there.
DIECAST_KERNEL {
  const i64 bands = ceil_div(rows, 64), tiles = ceil_div(cols, 64);
  DIECAST_NO_UNROLL
  for (RowWalk at(cols / 16, batch * rows, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS); at.row < batch * rows;
       at.next()) {
    const i64 weight = at.row / rows, from = packed_row(at.row - weight * rows, rows);
    const u8* tile = packed + ((weight * bands + from / 64) * tiles + at.piece / 4) * TILE_BYTES;
    const u32 row = static_cast<u32>(from % 64), step = static_cast<u32>(at.piece % 4);
    const u32 first_thread = row / 16 * 32 + row % 8 * 4;
    const bool second = row / 8 % 2 == 1;  // of the two rows that a thread has
    Vector<8> v = {};
    DIECAST_UNROLL
    for (u32 i = 0; i < 4; ++i) {
      const u32 word = load<4>(tile + Tile::code_place(first_thread + i, step)).words[0];
      v.words[0] |= byte_of(second ? pair_codes<1>(word) : pair_codes<0>(word)) << (8 * i);
      v.words[1] |= byte_of(second ? pair_codes<3>(word) : pair_codes<2>(word)) << (8 * i);
    }
    store_streaming<8>(codes + (at.row * cols + 16 * at.piece) / 2, v);
    const i64 block = at.piece * 16 / SCALE_BLOCK;
    if (block * SCALE_BLOCK == at.piece * 16) {
      const u32 byte = tile[Tile::scale_place(row, static_cast<u32>(block % Tile::kBlocks))];
      scales[at.row * (cols / SCALE_BLOCK) + block] = static_cast<u8>(unpacked_scale<FORMAT>(byte));
    }
  }
}
