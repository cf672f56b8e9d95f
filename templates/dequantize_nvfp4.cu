// dequantize_nvfp4: NVFP4 codes and block scales back to a row-major [rows, cols] matrix.
// GLOBAL_amax:   out = e2m1 * ((scale * amax) * fl(1 / (BOUND * 6)))   amax as the quantizer had it
// GLOBAL_decode: out = (e2m1 * scale) * factor            factor = 1 / S, as checkpoints carry it
// ROWS_dense: whole blocks and 16 elements at a time, row after row without a gap, from a multiple of
// 16 bytes on. ROWS_apart: the same, but every row from a multiple of 16 bytes on. ROWS_any: nothing
// is known, also of the codes' rows; nothing behind the end of a row's codes is read.
/* diecast
shape    int   COLS      = 0                             // row length; 0 = not fixed at compile time
shape    enum  ROWS      {dense, apart, any} = dense     // what is known of out's rows, see above
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  OUT       {bf16, f16, f32}                // element type of out
option   int   BLOCK     {8, 16, 32, 64, 128} = 16       // neighbours that share one block scale
option   enum  LAYOUT    {linear, s128x4, s8x4} = linear // where a block's scale lies
option   bool  ROW_SCALE = false                         // factor has one entry a row, not one in all
option   enum  GLOBAL    {amax, decode} = amax           // what factor holds
option   int   BOUND     {448, 256} = 448                // the largest block scale amax was made for
tune     int   THREADS   {128, 256} = 256
tune     int   waves     {1, 8, 64, 128} = 64            // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : max(BLOCK, 16))
arg      codes  in   u8    [rows, ceil_div(cols, 2)]  stride (ROWS == ROWS_any)  align (ROWS == ROWS_any ? 1 : 8)
arg      scales in   e4m3  [align_up(rows, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), align_up(ceil_div(cols, BLOCK), LAYOUT == LAYOUT_linear ? 1 : 4)]  stride (SCALES_APART)
arg      factor in   f32   [ROW_SCALE ? rows : 1]
arg      out    out  OUT   [rows, cols]  stride (ROWS != ROWS_dense)  align (ROWS == ROWS_any ? bits(OUT) / 8 : 16)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LAYOUT == LAYOUT_linear        // tiles of scales lie one behind another: only linear rows can be apart
require  GLOBAL == GLOBAL_amax || BOUND == 448           // a decode scale has no bound left in it
launch   grid(min(ceil_div(rows * ceil_div(cols, 16), THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 256}  rows {0, 1, 7, 33, 130}  cols {1, 16, 17, 80, 256, 2100}
*/
#include <diecast/device/convert.h>
#include <diecast/device/eight.h>
#include <diecast/device/row_walk.h>
#include <diecast/device/scale_layout.h>
#include <diecast/device/vector.h>

using Scales = ScaleLayout<LAYOUT>;

// The 16 codes that `from` begins with, those behind `count` elements as zeros.
DIECAST_DEVICE Vector<8> load_codes(const u8* from, i64 count) {
  if constexpr (ROWS != ROWS_any) {
    return load_streaming<8>(from);
  } else {
    Vector<8> v = {};
DIECAST_NO_UNROLL
    for (int i = 0; i < 8; ++i) {
      if (2 * i < count) v.words[i / 4] |= u32{from[i]} << (i % 4 * 8);
    }
    return v;
  }
}

DIECAST_DEVICE f32 dequantized(u32 code, f32 scale, f32 of_block) {
  if constexpr (GLOBAL == GLOBAL_amax) {
    return __fmul_rn(f32_from_e2m1(code), of_block);
  } else {
    return __fmul_rn(__fmul_rn(f32_from_e2m1(code), scale), of_block);
  }
}

// One thread 16 neighbours of a row, in two halves.
DIECAST_KERNEL {
  constexpr f32 kOverLargest = BOUND == 448 ? 0x1.861862p-12f : 0x1.555556p-11f;  // fl(1 / (6 * BOUND))
  RowWalk at(ceil_div(cols, 16), blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS);
  const i64 pieces = rows * at.row_pieces;
DIECAST_NO_UNROLL
  for (; at.index < pieces; at.next()) {
    const i64 first = at.piece * 16;
    const u8* from =
        ROWS == ROWS_dense ? codes + at.index * 8 : codes + at.row * codes_stride + first / 2;
    const Vector<8> code_words = load_codes(from, cols - first);
    OUT* to = out + (ROWS == ROWS_dense ? at.index * 16 : at.row * out_stride + first);
    f32 scale = 0.0f, of_block = 0.0f;
DIECAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      const i64 left = cols - first - 8 * half;
      if (half == 0 || (BLOCK == 8 && left > 0)) {
        const i64 block = (first + 8 * half) / BLOCK;
        scale = f32_from_e4m3(scales[Scales::offset(at.row, block, scales_stride)]);
        of_block = factor[ROW_SCALE ? at.row : 0];
        if constexpr (GLOBAL == GLOBAL_amax) {
          of_block = __fmul_rn(__fmul_rn(scale, of_block), kOverLargest);
        }
      }
      Eight<OUT> elements;
DIECAST_UNROLL
      for (int i = 0; i < 8; ++i) {
        elements.set(i, dequantized(code_words.words[half] >> (4 * i), scale, of_block));
      }
      elements.template store<ROWS != ROWS_any>(to + 8 * half, left);
    }
  }
}
