// pack_linear: weights of a checkpoint, NVFP4 or MXFP4 codes (two a byte, along a row) and block scales row
// after row, to packed tiles (packed_tile.h has the bytes). `batch` weights lie one behind another.
// A block whose scale is zero gets zero codes, one whose scale is negative gets its codes' signs
// turned, both a positive scale; an MXFP4 block of zero codes may get the scale of one.
// GATED: rows / 2 rows of gate and as many of up, in two halves or taking turns, are packed in turns of 8
// rows, so that one thread of a product has both. Apart, the halves are two tensors.
// status: how many scales a product with x of bf16, with x of f16 cannot hold, and the first row of
// such a one, all of gate before all of up where these are halves; of NVFP4 these are NaN, of MXFP4 those
// outside 2 to 135, outside 111 to 135. What is there is added to; a row gets smaller.
/* diecast
use      <diecast/device/linear/packed_tile.h>           // FORMAT
option   enum  GATED {none, halves, alternate, apart} = none  // how rows of gate and up lie
let      APART = GATED == apart                          // codes and scales are gate's alone
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 4, 16} = 16                   // the most thread blocks a multiprocessor gets
size     batch                                           // weights
size     rows  divisible (GATED == none ? 1 : 16)        // rows of a weight
size     cols  divisible SCALE_BLOCK                     // columns of a weight
arg      codes   in     u8   [batch, APART ? rows / 2 : rows, cols / 2]  align 8
arg      scales  in     u8   [batch, APART ? rows / 2 : rows, cols / SCALE_BLOCK]
arg      up_codes  in   u8   [APART ? batch : 0, rows / 2, cols / 2]  align 8
arg      up_scales in   u8   [APART ? batch : 0, rows / 2, cols / SCALE_BLOCK]
arg      packed  out    u8   [batch, ceil_div(rows, 64) * ceil_div(cols, 64) * TILE_BYTES]  align 16
arg      status  inout  u32  [4]  optional               // counts for bf16, f16; first rows for bf16, f16
arg      batch
arg      rows
arg      cols
launch   grid(min(batch * ceil_div(rows, 64) * ceil_div(cols, 256), sm_count * waves)) block(THREADS)
exchange block                                           // rows are read, tiles are written
sample   batch {1}  rows {0, 1, 9, 70, 130}  cols {0, 16, 32, 64, 96, 320}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/threads/row_walk.h>

using Tile = PackedTile<FORMAT>;

// A thread block takes a strip of 64 rows and four tiles.
constexpr int kTiles = 4, kCols = 64 * kTiles, kScales = kTiles * Tile::kBlocks;
// One word of 8 bytes more keeps eight rows in different banks.
constexpr int kPitch = kCols / 8 + 2;
constexpr u32 kOne = FORMAT == FORMAT_nvfp4 ? 0x38u : 127u;  // the scale byte of 1

struct Strip {
  u32 codes[64 * kPitch];
  u8 scales[64 * kScales];
};

// The row of the weight that is packed as `row`.
DIECAST_DEVICE i64 source_row(i64 row, i64 rows) {
  if constexpr (GATED == GATED_none) return row;
  const i64 of_half = row / 16 * 8 + row % 8, half = row / 8 % 2;
  return GATED == GATED_alternate ? 2 * of_half + half : half * (rows / 2) + of_half;
}

// Weights where they are read.
struct Source {
  const u8 *codes, *scales, *up_codes, *up_scales;
  i64 rows, cols;

  // The row of a weight that is packed as `row`, of so many bytes.
  DIECAST_DEVICE const u8* row_of(const u8* all, const u8* up, i64 weight, i64 row, i64 bytes) const {
    row = source_row(row, rows);
    if constexpr (!APART) return all + (weight * rows + row) * bytes;
    const i64 half = rows / 2;
    return (row < half ? all : up) + (weight * half + (row < half ? row : row - half)) * bytes;
  }
  DIECAST_DEVICE const u8* codes_of(i64 weight, i64 row) const { return row_of(codes, up_codes, weight, row, cols / 2); }
  DIECAST_DEVICE const u8* scales_of(i64 weight, i64 row) const {
    return row_of(scales, up_scales, weight, row, cols / SCALE_BLOCK);
  }
};

// What is beyond the weight is read as codes of zero and scales of one.
DIECAST_DEVICE void read_strip(Strip& strip, const Source& from, i64 weight, i64 first_row, i64 first_col) {
  DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < 64 * kCols / 16; i += THREADS) {
    const int row = i / (kCols / 16), piece = i % (kCols / 16);
    const i64 col = first_col + 16 * piece;
    Vector<8> v = {};
    if (first_row + row < from.rows && col < from.cols) v = load_streaming<8>(from.codes_of(weight, first_row + row) + col / 2);
    strip.codes[row * kPitch + 2 * piece] = v.words[0];
    strip.codes[row * kPitch + 2 * piece + 1] = v.words[1];
  }
  const i64 blocks = from.cols / SCALE_BLOCK, first_block = first_col / SCALE_BLOCK;
  DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < 64 * kScales; i += THREADS) {
    const int row = i / kScales, block = i % kScales;
    const bool there = first_row + row < from.rows && first_block + block < blocks;
    strip.scales[i] = there ? from.scales_of(weight, first_row + row)[first_block + block] : kOne;
  }
}

// Two neighbouring codes as pair_codes() has them, for a block of this scale.
DIECAST_DEVICE u32 spread(u32 byte, u32 scale) {
  u32 pair = (byte & 0x07u) << 6 | (byte & 0x08u) << 12 | (byte & 0x70u) << 18 | (byte & 0x80u) << 24;
  if constexpr (FORMAT == FORMAT_nvfp4) {
    if ((scale & 127u) == 0)
      pair = 0;
    else if (scale & 128u)
      pair ^= 0x80008000u;
  }
  return pair;
}

// The word of a thread for a step of a tile.
DIECAST_DEVICE u32 code_word(const Strip& strip, int tile, u32 thread, int step) {
  const int row = Tile::row_of(thread), at = 8 * tile + 2 * step, shift = 8 * (thread % 4);
  const int block = (64 * tile + 16 * step) / SCALE_BLOCK;
  u32 pairs[4];
  DIECAST_UNROLL
  for (int pair = 0; pair < 4; ++pair) {
    const int of = row + 8 * (pair % 2);
    pairs[pair] = spread(strip.codes[of * kPitch + at + pair / 2] >> shift & 255u, strip.scales[of * kScales + block]);
  }
  return word_of_pairs(pairs[0], pairs[1], pairs[2], pairs[3]);
}

// Whether all codes of a block are zeros.
DIECAST_DEVICE bool is_zero(const Strip& strip, int row, int block) {
  u32 any = 0;
  for (int i = 0; i < SCALE_BLOCK / 8; ++i) any |= strip.codes[row * kPitch + SCALE_BLOCK / 8 * block + i];
  return (any & 0x77777777u) == 0;
}

DIECAST_DEVICE void count(u32* status, i64 row) {
  atomicAdd(&status[0], 1u);
  atomicMin(&status[2], static_cast<u32>(row));
}

// The packed scale of a row's block. `row` is the strip's first row in the weight.
DIECAST_DEVICE u32 scale_byte(const Strip& strip, int row, int block, u32* status, i64 source) {
  u32 scale = strip.scales[row * kScales + block];
  if constexpr (FORMAT == FORMAT_nvfp4) {
    scale &= 127u;
    if (scale == 127u && HAS_STATUS) count(status, source), count(status + 1, source);
    if (scale == 0) scale = kOne;
  } else if (scale < 111u || scale > 135u) {
    if (scale != 255u && is_zero(strip, row, block)) return packed_scale<FORMAT>(kOne);
    if (HAS_STATUS && (scale < 2u || scale > 135u)) count(status, source);
    if (HAS_STATUS) count(status + 1, source);
  }
  return packed_scale<FORMAT>(scale);
}

// A word of a tile's scales: two blocks of a row, the same two of the row 8 further.
DIECAST_DEVICE u32 scale_word(const Strip& strip, int tile, int word, u32* status, i64 first_row, i64 rows) {
  const int pair = word / Tile::kScaleWords;
  u32 bytes = 0;
  DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int row = pair / 8 * 16 + pair % 8 + i / 2 * 8;
    const int block = Tile::kBlocks * tile + word % Tile::kScaleWords * 2 + i % 2;
    bytes |= scale_byte(strip, row, block, status, source_row(first_row + row, rows)) << (8 * i);
  }
  return bytes;
}

DIECAST_DEVICE void write_strip(const Strip& strip, u8* to, i64 tiles, u32* status, i64 first_row, i64 rows) {
  DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < 128 * tiles; i += THREADS) {
    const int tile = i / 128, thread = i % 128;
    Vector<16> v;
    DIECAST_UNROLL
    for (int step = 0; step < 4; ++step) v.words[step] = code_word(strip, tile, thread, step);
    store_streaming<16>(to + tile * TILE_BYTES + Tile::code_place(thread, 0), v);
  }
  constexpr int kWords = 32 * Tile::kScaleWords;  // of a tile
  DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < kWords * tiles; i += THREADS) {
    const int tile = i / kWords, word = i % kWords;
    u8* at = to + tile * TILE_BYTES + Tile::kCodeBytes + 4 * word;
    store_streaming<4>(at, {{scale_word(strip, tile, word, status, first_row, rows)}});
  }
}

DIECAST_KERNEL {
  __shared__ Strip strip;
  const Source source = {codes, scales, up_codes, up_scales, rows, cols};
  const i64 bands = ceil_div(rows, 64), tiles = ceil_div(cols, 64);
  DIECAST_NO_UNROLL
  for (RowWalk at(ceil_div(cols, kCols), batch * bands, blockIdx.x, gridDim.x); at.row < batch * bands; at.next()) {
    const i64 weight = at.row / bands, first_row = (at.row - weight * bands) * 64, first_tile = at.piece * kTiles;
    read_strip(strip, source, weight, first_row, 64 * first_tile);
    __syncthreads();
    write_strip(strip, packed + (at.row * tiles + first_tile) * TILE_BYTES, min(i64{kTiles}, tiles - first_tile), status,
                first_row, rows);
    __syncthreads();
  }
}
