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
tune     int   waves   {1, 8, 64} = 64                   // the most thread blocks a multiprocessor gets
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
launch   grid(min(ceil_div(batch * ceil_div(rows, 64) * 4 * ceil_div(cols, 512), THREADS / 32), sm_count * waves)) block(THREADS)
exchange warp                                            // four lanes share the words of a row
sample   batch {1}  rows {0, 1, 9, 70, 130}  cols {0, 16, 32, 64, 96, 320}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/threads/row_walk.h>

using Tile = PackedTile<FORMAT>;

// A warp takes 16 rows of eight tiles, four at once. Lane 4 * g + s reads step s of rows g and g + 8 of a tile, and writes the words
// of the tile's thread of its own number.
constexpr int kTiles = 8, kAtOnce = 4, kBands = 4;           // of a warp; those that it reads together; warps of a tile
constexpr u32 kOne = FORMAT == FORMAT_nvfp4 ? 0x38u : 127u;  // the scale byte of 1
constexpr u32 kLanes = SCALE_BLOCK / 16;                     // that share a scale

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
};

// A row of a weight, of steps of 16 columns. Beyond the weight codes are zeros and scales one.
struct Row {
  const u8 *codes = nullptr, *scales = nullptr;
  u32 steps = 0;

  DIECAST_DEVICE Row(const Source& from, i64 weight, i64 row) {
    if (row >= from.rows) return;
    const i64 nth = source_row(row, from.rows);
    steps = static_cast<u32>(from.cols / 16);
    const i64 half = from.rows / 2;
    const bool up = APART && nth >= half;
    const i64 at = APART ? weight * half + nth - (up ? half : 0) : weight * from.rows + nth;
    codes = (up ? from.up_codes : from.codes) + at * (from.cols / 2);
    scales = (up ? from.up_scales : from.scales) + at * (from.cols / SCALE_BLOCK);
  }
};

// What a lane reads of a row: 16 codes, and their scale.
struct Step {
  Vector<8> codes = {};
  u32 scale = kOne;

  DIECAST_DEVICE void load(const Row& row, u32 nth) {
    if (nth >= row.steps) return;
    codes = load_streaming<8>(row.codes + u64{nth} * 8);
    scale = row.scales[nth / kLanes];
  }
  // Codes as they are under a positive scale.
  DIECAST_DEVICE void settle_signs() {
    if constexpr (FORMAT != FORMAT_nvfp4) return;
    const u32 kept = (scale & 127u) == 0 ? 0u : ~0u, turned = (scale & 128u) == 0 ? 0u : 0x88888888u;
    codes.words[0] = (codes.words[0] ^ turned) & kept;
    codes.words[1] = (codes.words[1] ^ turned) & kept;
  }
};

// Of the packed row.
DIECAST_DEVICE void count(u32* status, i64 row, i64 rows) {
  atomicAdd(&status[0], 1u);
  atomicMin(&status[2], static_cast<u32>(source_row(row, rows)));
}

// The packed scale of a step's block. All lanes ask, the first one of the block counts.
DIECAST_DEVICE u32 scale_byte(const Step& step, u32* status, i64 row, i64 rows) {
  const u32 scale = step.scale & (FORMAT == FORMAT_nvfp4 ? 127u : 255u);
  if constexpr (FORMAT == FORMAT_nvfp4) {
    if (scale == 127u && HAS_STATUS) count(status, row, rows), count(status + 1, row, rows);
    return packed_scale<FORMAT>(scale == 0 ? kOne : scale);
  }
  u32 any = (step.codes.words[0] | step.codes.words[1]) & 0x77777777u;
  any |= __shfl_xor_sync(~0u, any, 1);
  if (scale >= 111u && scale <= 135u) return packed_scale<FORMAT>(scale);
  if (scale != 255u && any == 0) return packed_scale<FORMAT>(kOne);
  if (HAS_STATUS && threadIdx.x % kLanes == 0) {
    if (scale < 2u || scale > 135u) count(status, row, rows);
    count(status + 1, row, rows);
  }
  return packed_scale<FORMAT>(scale);
}

// Of four words, one for each thread, those of four steps for the lane's own: word i of lane j goes to place j of lane i.
DIECAST_DEVICE void turn(u32 (&words)[4]) {
  DIECAST_UNROLL
  for (int distance = 1; distance < 4; distance *= 2) {
    const bool second = (threadIdx.x & distance) != 0;
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (i & distance) continue;
      const u32 got = __shfl_xor_sync(~0u, second ? words[i] : words[i + distance], distance);
      words[i] = second ? got : words[i];
      words[i + distance] = second ? words[i + distance] : got;
    }
  }
}

// The words of codes of a step of rows g and g + 8, for each thread, then those of the lane's thread for each step.
DIECAST_DEVICE Vector<16> code_words(const Step& low, const Step& high) {
  const u32 pairs[4] = {low.codes.words[0], high.codes.words[0], low.codes.words[1], high.codes.words[1]};
  Vector<16> v;
  words_of_pairs(pairs, v.words);
  turn(v.words);
  return v;
}

// Writes what the lane has of a tile, of packed row `row` and the one 8 further.
DIECAST_DEVICE void write(u8* tile, u32 band, Step& low, Step& high, u32* status, i64 row, i64 rows) {
  const u32 lane = threadIdx.x % 32;
  const u32 scales = scale_byte(low, status, row, rows) | scale_byte(high, status, row + 8, rows) << 16;
  const u32 word = scales | __shfl_xor_sync(~0u, scales, kLanes) << 8;
  low.settle_signs(), high.settle_signs();
  store_streaming<16>(tile + Tile::code_place(32 * band + lane, 0), code_words(low, high));
  const u32 pair = 8 * band + lane / 4, nth = lane % 4 / (2 * kLanes);
  if (lane % (2 * kLanes) == 0) store_streaming<4>(tile + Tile::kCodeBytes + 4 * (pair * Tile::kScaleWords + nth), {{word}});
}

DIECAST_KERNEL {
  const Source source = {codes, scales, up_codes, up_scales, rows, cols};
  const i64 bands = kBands * ceil_div(rows, 64);
  const auto tiles = static_cast<u32>(ceil_div(cols, 64));
  const u32 warp = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
  DIECAST_NO_UNROLL
  for (RowWalk at(ceil_div(tiles, u32{kTiles}), batch * bands, warp, gridDim.x * (THREADS / 32)); at.row < batch * bands; at.next()) {
    const u32 row = static_cast<u32>(at.row), weight = row / static_cast<u32>(bands), band = row % kBands;
    const i64 first = i64{row - weight * static_cast<u32>(bands)} * 16 + lane / 4;
    const Row low(source, weight, first), high(source, weight, first + 8);
    u8* const to = packed + u64{row / kBands} * tiles * TILE_BYTES;
    const u32 begin = static_cast<u32>(at.piece) * kTiles, end = min(begin + kTiles, tiles);
    DIECAST_NO_UNROLL
    for (u32 tile = begin; tile < end; tile += kAtOnce) {
      Step steps[kAtOnce][2];
      DIECAST_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const u32 step = (tile + i) * 4 + lane % 4;
        steps[i][0].load(low, step), steps[i][1].load(high, step);
      }
      DIECAST_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (tile + i < tiles) write(to + u64{tile + i} * TILE_BYTES, band, steps[i][0], steps[i][1], status, first, rows);
      }
    }
  }
}
