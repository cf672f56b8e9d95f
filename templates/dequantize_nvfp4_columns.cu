// dequantize_nvfp4_columns: NVFP4 codes and block scales of a matrix's columns, the transpose's as
// quantize_nvfp4_tiles has them, back to the row-major [rows, cols] matrix.
// GLOBAL_amax:   out = e2m1 * ((scale * amax) * fl(1 / (BOUND * 6)))   amax as the quantizer had it
// GLOBAL_decode: out = (e2m1 * scale) * factor            factor = 1 / S, as checkpoints carry it
/* diecast
shape    int   COLS      = 0                             // row length; 0 = not fixed at compile time
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  OUT       {bf16, f16, f32}                // element type of out
option   enum  LAYOUT    {linear, s128x4, s8x4} = linear // where a block's scale lies
option   bool  ROW_SCALE = false                         // factor has one entry a column, not one in all
option   enum  GLOBAL    {amax, decode} = amax           // what factor holds
option   int   BOUND     {448, 256} = 448                // the largest block scale amax was made for
tune     int   THREADS   {128, 256} = 256
tune     int   waves     {1, 8, 64, 256} = 256            // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS
arg      codes  in   u8    [cols, align_up(rows, 16) / 2]  align 8
arg      scales in   e4m3  [align_up(cols, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), align_up(ceil_div(rows, 16), LAYOUT == LAYOUT_linear ? 1 : 4)]  stride (SCALES_APART)
arg      factor in   f32   [ROW_SCALE ? cols : 1]
arg      out    out  OUT   [rows, cols]  stride
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LAYOUT == LAYOUT_linear        // tiles of scales lie one behind another: only linear rows can be apart
require  GLOBAL == GLOBAL_amax || BOUND == 448           // a decode scale has no bound left in it
launch   grid(min(ceil_div(ceil_div(rows, 16) * cols, THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 80}  rows {0, 1, 15, 33, 130}  cols {1, 17, 80, 300}
*/
#include <diecast/device/nvfp4_values.h>
#include <diecast/device/row_walk.h>
#include <diecast/device/scale_layout.h>
#include <diecast/device/vector.h>

using Scales = ScaleLayout<LAYOUT>;

// One thread a block of 16 down a column: neighbouring threads write neighbours.
DIECAST_KERNEL {
  const i64 col_blocks = ceil_div(rows, 16);
DIECAST_NO_UNROLL
  for (RowWalk at(cols, col_blocks, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS, COLS != 0);
       at.row < col_blocks; at.next()) {
    const i64 col = at.piece, row = at.row * 16;
    const Vector<8> block = load_streaming<8>(codes + (col * col_blocks + at.row) * 8);
    const e4m3 scale = scales[Scales::offset(col, at.row, scales_stride)];
    const f32 of_all = factor[ROW_SCALE ? col : 0];
DIECAST_UNROLL
    for (int half = 0; half < 2; ++half) {
      const i64 first = row + 8 * half;
      nvfp4_values<OUT, GLOBAL == GLOBAL_decode, BOUND>(block.words[half], scale, of_all)
          .store_down(out + first * out_stride + col, out_stride, rows - first);
    }
  }
}
