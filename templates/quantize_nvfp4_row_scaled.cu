// quantize_nvfp4_row_scaled: a row-major [rows, cols] matrix to NVFP4 with one amax a row, which this
// kernel finds itself: the row is read, its amax reduced, and its blocks quantized in one pass.
// ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
// What each PROFILE makes of the options stands in PROFILES.md. s128x4 and s8x4 scales are padded to
// whole tiles, and the padding is written: zeros.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {apart, any} = apart              // what is known of x's rows, see above
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  IN      {bf16, f16, f32}                  // element type of x
option   int   BLOCK   {16} = 16                         // neighbours that share one block scale
option   enum  PROFILE {te, pr546, modelopt, torchao} = te  // whose bits; see PROFILES.md
option   enum  LAYOUT  {linear, s128x4, s8x4} = linear   // of the block scales
option   enum  FOUR_OVER_SIX {off, mae, mse} = off       // two scales are tried, the smaller error stays
option   int   BOUND   {448, 256} = 448                  // block scale that the global scale aims at
option   bool  RHT     = false                           // x is transformed first (hadamard.h)
option   int   SIGN_MASK = 0                             // RHT: bit i flips the sign of element i of 16
tune     int   THREADS {32, 256, 512} = 256              // they share a row
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : BLOCK)
arg      x      in   IN    [rows, cols]  stride  align (ROWS == ROWS_any ? bits(IN) / 8 : 16)
arg      amax   out  f32   [rows]
arg      codes  out  u8    [rows, align_up(cols, BLOCK) / 2]  align 8
arg      scales out  e4m3  [align_up(rows, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), align_up(ceil_div(cols, BLOCK), LAYOUT == LAYOUT_linear ? 1 : 4)]  stride (SCALES_APART)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LAYOUT == LAYOUT_linear        // tiles of scales lie one behind another: only linear rows can be apart
require  PROFILE == PROFILE_te || FOUR_OVER_SIX == FOUR_OVER_SIX_off  // four over six is defined by profile te
require  BOUND == 448 || FOUR_OVER_SIX != FOUR_OVER_SIX_off || PROFILE == PROFILE_modelopt  // bound 256 is defined by profile te with four over six, and by modelopt
require  RHT || SIGN_MASK == 0                           // signs belong to the transform: RHT=1
require  SIGN_MASK >= 0 && SIGN_MASK < 65536             // one bit for each of 16 elements
launch   grid(min(align_up(rows, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange block                                           // the row's amax is reduced by all its threads
sample   COLS {0, 80}  SIGN_MASK {0, 55272}  rows {0, 1, 7, 33, 130}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/block16.h>
#include <diecast/device/hadamard.h>
#include <diecast/device/nvfp4_recipe.h>
#include <diecast/device/reduce.h>
#include <diecast/device/scale_layout.h>
#include <diecast/device/vector.h>

using Recipe = Nvfp4Recipe<PROFILE, kGlobalAmax, FOUR_OVER_SIX, BOUND, false>;
using Layout = ScaleLayout<LAYOUT>;

DIECAST_DEVICE Block16<IN> block_at(const IN* row, i64 first, i64 row_cols) {
  Block16<IN> block = ROWS == ROWS_any ? load_block16_elements(row + first, row_cols - first)
                                       : load_block16(row + first);
  if constexpr (RHT) block = hadamard16(block, SIGN_MASK);
  return block;
}

// Largest magnitude of what this thread takes of a row, in the largest pieces that are aligned; whole
// blocks where a transform or the profile's rule for NaN wants them.
DIECAST_DEVICE f32 amax_of_share(const IN* row, i64 row_cols) {
  f32 found = 0.0f;
  if constexpr (RHT || !Recipe::kIgnoresNan) {
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x * 16; i < row_cols; i += THREADS * 16) {
      const f32 here = Recipe::amax(block_at(row, i, row_cols));
      found = Recipe::kIgnoresNan ? fmaxf(found, here) : max_or_nan(found, here);
    }
  } else if constexpr (ROWS == ROWS_any) {
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x; i < row_cols; i += THREADS) found = fmaxf(found, fabsf(to_f32(row[i])));
  } else {
    constexpr int kPiece = 128 / bits<IN>();
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x * kPiece; i < row_cols; i += THREADS * kPiece) {
      found = fmaxf(found, amax_of_vector<IN>(load<16>(row + i)));
    }
  }
  return found;
}

// One block of threads a row. The second reading finds in the first-level cache what fits there.
DIECAST_KERNEL {
  const i64 row_blocks = ceil_div(cols, BLOCK);
DIECAST_NO_UNROLL
  for (i64 row = blockIdx.x; row < Layout::padded_rows(rows); row += gridDim.x) {
    const i64 blocks = row < rows ? row_blocks : 0;  // a row of padding has none
    const IN* from = x + row * x_stride;
    u8* to_codes = codes + row * row_blocks * 8;
    if (row < rows) {
      const f32 share = amax_of_share(from, cols);
      const f32 row_amax = Recipe::kIgnoresNan ? block_reduce_max<THREADS>(share)
                                               : block_reduce_max_or_nan<THREADS>(share);
      if (threadIdx.x == 0) amax[row] = row_amax;
      const auto global = Recipe::global(row_amax);
DIECAST_NO_UNROLL
      for (i64 i = threadIdx.x; i < row_blocks; i += THREADS) {
        const Nvfp4Block out = Recipe::quantize(block_at(from, i * BLOCK, cols), global);
        store_streaming<8>(to_codes + 8 * i, {{out.codes[0], out.codes[1]}});
        scales[Layout::offset(row, i, scales_stride)] = out.scale;
      }
    }
    if constexpr (LAYOUT != LAYOUT_linear) {
DIECAST_NO_UNROLL
      for (i64 i = blocks + threadIdx.x; i < Layout::padded_cols(row_blocks); i += THREADS) {
        scales[Layout::offset(row, i, scales_stride)] = {0};
      }
    }
  }
}
