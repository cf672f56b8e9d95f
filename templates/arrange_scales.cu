// arrange_scales: block scales, one byte each, from one layout to another; the padding of the new one
// is written as zeros, that of the old one is not read. TILES: from the scales of 16x16 blocks of a
// matrix to those of its transpose, where scale (row, block) is scale (16 * block, row / 16).
// RESCALE: E4M3 scales under the global decode scale old_decode become such under new_decode:
// E4M3(scale * (old_decode / new_decode)), at most 448; the same bytes where both are equal.
/* diecast
option   enum  FROM    {linear, s128x4, s8x4} = linear
option   enum  TO      {linear, s128x4, s8x4} = s128x4
option   bool  TILES   = false
option   bool  RESCALE = false
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64} = 64                   // the most blocks of threads a multiprocessor gets
size     batch                                           // matrices one behind another, each with its padding
size     rows                                            // of the old scale matrix
size     cols                                            // its columns, one a block
size     new_rows                                        // of the new one: rows, or with TILES the matrix's columns
arg      scales     in   u8   [batch, align_up(rows, FROM == FROM_s128x4 ? 128 : FROM == FROM_s8x4 ? 8 : 1), align_up(cols, FROM == FROM_linear ? 1 : 4)]  stride (FROM == FROM_linear)
arg      old_decode in   f32  [RESCALE ? batch : 0]
arg      new_decode in   f32  [RESCALE ? batch : 0]
arg      arranged   out  u8   [batch, align_up(new_rows, TO == TO_s128x4 ? 128 : TO == TO_s8x4 ? 8 : 1), align_up(TILES ? ceil_div(rows, 16) : cols, TO == TO_linear ? 1 : 4)]  stride (TO == TO_linear)
arg      batch
arg      rows
arg      cols
arg      new_rows
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(batch * align_up(new_rows, TO == TO_s128x4 ? 128 : TO == TO_s8x4 ? 8 : 1) * align_up(TILES ? ceil_div(rows, 16) : cols, TO == TO_linear ? 1 : 4), THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   batch {1}  rows {1, 7, 33, 130}  cols {1, 3, 4, 9}  new_rows {1}
*/
#include <diecast/device/nvfp4.h>
#include <diecast/device/row_walk.h>
#include <diecast/device/scale_layout.h>

using Old = ScaleLayout<FROM>;
using New = ScaleLayout<TO>;

// One thread a byte of the new scales, padding included.
DIECAST_KERNEL {
  const i64 new_cols = TILES ? ceil_div(rows, 16) : cols;
  const i64 new_padded_cols = New::padded_cols(new_cols);
  const i64 old_padded = Old::padded_rows(rows), new_padded = New::padded_rows(new_rows);
  i64 matrix = 0, matrix_row = 0;  // the matrix at hand, and the first of its rows among all
  const i64 bytes = batch * new_padded * new_padded_cols;
DIECAST_NO_UNROLL
  for (RowWalk at(new_padded_cols, batch * new_padded, blockIdx.x * THREADS + threadIdx.x,
               gridDim.x * THREADS);
       at.index < bytes; at.next()) {
DIECAST_NO_UNROLL
    for (; at.row >= matrix_row + new_padded; matrix_row += new_padded) ++matrix;
    const i64 row = at.row - matrix_row;
    u8 byte = 0;
    if (row < new_rows && at.piece < new_cols) {
      const u8* from = scales + matrix * old_padded * scales_stride;
      byte = TILES ? from[Old::offset(16 * at.piece, row / 16, scales_stride)]
                   : from[Old::offset(row, at.piece, scales_stride)];
      if constexpr (RESCALE) {
        const f32 ratio = quotient(old_decode[matrix], new_decode[matrix]);
        byte = e4m3_from_f32(__fmul_rn(f32_from_e4m3({byte}), ratio)).bits;
      }
    }
    u8* to = arranged + matrix * new_padded * arranged_stride;
    to[New::offset(row, at.piece, arranged_stride)] = byte;
  }
}
