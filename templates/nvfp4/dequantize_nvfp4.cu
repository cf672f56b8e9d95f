// dequantize_nvfp4: NVFP4 codes and block scales back to a row-major [rows, cols] matrix.
// GLOBAL_amax:   out = e2m1 * ((scale * amax) * fl(1 / (BOUND * 6)))   amax as the quantizer had it
// GLOBAL_decode: out = (e2m1 * scale) * amax              amax = 1 / S, as checkpoints carry it
// ROWS_dense: whole blocks and 16 elements at a time, row after row without a gap, from a multiple of
// 16 bytes on. ROWS_apart: the same, but every row from a multiple of 16 bytes on. ROWS_any: nothing
// is known, also of the codes' rows; nothing behind the end of a row's codes is read.
/* diecast
shape    int   COLS      = 0                             // row length; 0 = not fixed at compile time
shape    enum  ROWS      {dense, apart, any} = dense     // what is known of the rows, see above
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  OUT       {bf16, f16, f32}                // element type of out
option   int   BLOCK     {8, 16, 32, 64, 128} = 16       // neighbours that share one scale
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
option   bool  ROW_SCALE = false                         // amax has one entry a row, not one in all
option   enum  GLOBAL    {amax, decode} = amax           // what amax holds
option   int   BOUND     {448, 256} = 448                // the largest block scale amax was made for
tune     int   THREADS   {128, 256} = 256
tune     int   waves     {1, 8, 64, 256, 512} = 512      // the most thread blocks a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : max(BLOCK, 16))
arg      codes  in   u8    [rows, ceil_div(cols, 2)]  stride (ROWS == any)  align (ROWS == any ? 1 : 8)
arg      scales in   e4m3  [align_up(rows, SCALE_ROWS), align_up(ceil_div(cols, BLOCK), SCALE_COLS)]  stride (SCALES_APART)
arg      amax   in   f32   [ROW_SCALE ? rows : 1]
arg      out    out  OUT   [rows, cols]  stride (ROWS != dense)  align (ROWS == any ? bits(OUT) / 8 : 16)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LINEAR                         // tiles of scales lie one behind another: only linear rows can be apart
require  GLOBAL == amax || BOUND == 448                  // a decode scale has no bound left in it
launch   grid(min(ceil_div(rows * ceil_div(cols, 16), THREADS), sm_count * waves)) block(THREADS)
launch   dependent
exchange none                                            // threads never wait for one another
sample   COLS {0, 256}  rows {0, 1, 7, 33, 130}  cols {1, 16, 17, 80, 256, 2100}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/nvfp4_values.h>
#include <diecast/device/threads/dependent.h>
#include <diecast/device/threads/row_walk.h>

using Scales = ScaleLayout<LAYOUT>;

// Eight codes; those behind `count` elements are zeros.
DIECAST_DEVICE u32 load_codes(const u8* from, i64 count) {
  if constexpr (ROWS != ROWS_any) return load_streaming<4>(from).words[0];
  u32 word = 0;
  DIECAST_NO_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (2 * i < count) word |= u32{from[i]} << (8 * i);
  }
  return word;
}

// Eight elements: a thread's 16 bytes of a 16-bit type lie beside its neighbour's, which a store of a
// warp needs to be fast.
DIECAST_DEVICE void store_dequantized(OUT* to, i64 count, u32 eight_codes, e4m3 of_block, f32 of_all) {
  nvfp4_values<OUT, GLOBAL == GLOBAL_decode, BOUND>(eight_codes, of_block, of_all).template store<ROWS != ROWS_any>(to, count);
}

// Rows without gaps, scales too: two pieces a step, so that loads wait together. Where there is but one
// it is written twice: behind a branch the second scale's load would wait for the first piece's store.
DIECAST_DEVICE void dequantize_dense(const u8* from, const e4m3* of_blocks, f32 of_all, OUT* to, i64 pieces) {
  DIECAST_NO_UNROLL
  for (i64 i = blockIdx.x * (2 * THREADS) + threadIdx.x; i < pieces; i += gridDim.x * (2 * THREADS)) {
    const i64 second = i + THREADS < pieces ? i + THREADS : i;
    u32 c0 = load_codes(from + 4 * i, 8);
    const u32 c1 = load_codes(from + 4 * second, 8);
    const e4m3 s0 = of_blocks[i * 8 / BLOCK], s1 = of_blocks[second * 8 / BLOCK];
    next_may_begin(c0);
    store_dequantized(to + 8 * i, 8, c0, s0, of_all);
    store_dequantized(to + 8 * second, 8, c1, s1, of_all);
  }
}

DIECAST_KERNEL {
  constexpr bool kDense = ROWS == ROWS_dense && LINEAR && !SCALES_APART;
  if constexpr (kDense && !ROW_SCALE && !DIECAST_HOST) {  // the host has no loads that wait
    dequantize_dense(codes, scales, amax[0], out, rows * (cols / 8));
  } else {
    RowWalk at(ceil_div(cols, 8), rows, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS, COLS != 0);
    const i64 pieces = rows * at.row_pieces;
    DIECAST_NO_UNROLL
    for (; at.index < pieces; at.next()) {
      const i64 first = at.piece * 8;
      const u8* from = ROWS == ROWS_dense ? codes + at.index * 4 : codes + at.row * codes_stride + first / 2;
      OUT* to = out + (ROWS == ROWS_dense ? at.index * 8 : at.row * out_stride + first);
      u32 eight_codes = load_codes(from, cols - first);
      const e4m3 of_block = scales[Scales::offset(at.row, first / BLOCK, scales_stride)];
      const f32 of_row = amax[ROW_SCALE ? at.row : 0];
      next_may_begin(eight_codes);
      store_dequantized(to, cols - first, eight_codes, of_block, of_row);
    }
  }
}
