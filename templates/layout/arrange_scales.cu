// arrange_scales: block scales, one byte each, from one layout to another; the padding of the new one
// is written as zeros, that of the old one is not read. TILES: from the scales of 16x16 blocks of a
// matrix to those of its transpose, where scale (row, block) is scale (16 * block, row / 16).
// RESCALE: E4M3 scales under the global decode scale old_decode become such under new_decode:
// E4M3(scale * (old_decode / new_decode)), at most 448; the same bytes where both are equal, 0 and
// infinity too.
/* diecast
option   enum  FROM    {linear, s128x4, s8x4} = linear
option   enum  TO      {linear, s128x4, s8x4} = s128x4
option   bool  TILES   = false
option   bool  RESCALE = false
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64} = 64                   // the most thread blocks a multiprocessor gets
let      FROM_ROWS = FROM == s128x4 ? 128 : FROM == s8x4 ? 8 : 1  // of a tile
let      FROM_COLS = FROM == linear ? 1 : 4
let      TO_ROWS = TO == s128x4 ? 128 : TO == s8x4 ? 8 : 1
let      TO_COLS = TO == linear ? 1 : 4
size     batch                                           // matrices one behind another, each with its padding
size     rows                                            // of the old scale matrix
size     cols                                            // its columns, one a block
size     new_rows                                        // of the new one: rows, or with TILES the matrix's columns
arg      scales     in   u8   [batch, align_up(rows, FROM_ROWS), align_up(cols, FROM_COLS)]  stride (FROM == linear)
arg      old_decode in   f32  [RESCALE ? batch : 0]
arg      new_decode in   f32  [RESCALE ? batch : 0]
arg      arranged   out  u8   [batch, align_up(new_rows, TO_ROWS),
                               align_up(TILES ? ceil_div(rows, 16) : cols, TO_COLS)]  stride (TO == linear)
arg      batch
arg      rows
arg      cols
arg      new_rows
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(batch * align_up(new_rows, TO_ROWS) * align_up(TILES ? ceil_div(rows, 16) : cols, TO_COLS), THREADS),
                  sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   batch {1}  rows {1, 7, 33, 130}  cols {1, 4, 9, 40}  new_rows {1}
*/
#include <diecast/device/blocks/block16_data.h>
#include <diecast/device/numbers/quotient.h>
#include <diecast/device/scales/scale_square.h>
#include <diecast/device/threads/row_walk.h>

static_assert(int(FROM_s128x4) == LAYOUT_s128x4 && int(FROM_s8x4) == LAYOUT_s8x4 && int(TO_s128x4) == LAYOUT_s128x4 &&
                  int(TO_s8x4) == LAYOUT_s8x4,
              "FROM and TO have the words of LAYOUT");
using Old = ScaleLayout<FROM>;
using New = ScaleLayout<TO>;
using Square = ScaleSquare<FROM == FROM_s128x4 || TO == TO_s128x4 ? 32 : 1>;

// Two scales of a word. f16 holds every E4M3; the host makes f32 sooner.
DIECAST_DEVICE u32 rescaled(u32 two, f32 ratio) {
#if DIECAST_HOST
  const f32 values[2] = {f32_from_e4m3({static_cast<u8>(two)}), f32_from_e4m3({static_cast<u8>(two >> 8)})};
#else
  const u32 pair = f16_pair_of_e4m3(two & 0xFFFFu);
  const f32 values[2] = {element_of<f16>(&pair, 0), element_of<f16>(&pair, 1)};
#endif
  return e4m3x2_from_f32(__fmul_rn(values[0], ratio), __fmul_rn(values[1], ratio));
}

// The way of a thread through matrices one behind another, each of so many pieces.
struct Walk : RowWalk {
  i64 matrix = 0, matrix_row = 0;  // the matrix at hand, and the first of its rows of pieces among all

  DIECAST_DEVICE Walk(i64 pieces_a_row, i64 matrix_rows, i64 matrices)
      : RowWalk(pieces_a_row, matrices * matrix_rows, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS) {}

  // The row within its matrix.
  DIECAST_DEVICE i64 find(i64 matrix_rows) {
    DIECAST_NO_UNROLL
    for (; row >= matrix_row + matrix_rows; matrix_row += matrix_rows) ++matrix;
    return row - matrix_row;
  }
};

DIECAST_KERNEL {
  const i64 new_cols = TILES ? ceil_div(rows, 16) : cols;
  const i64 new_padded_cols = New::padded_cols(new_cols);
  const i64 old_padded = Old::padded_rows(rows), new_padded = New::padded_rows(new_rows);
  const auto ratio = [&](i64 matrix) {
    if (!RESCALE || old_decode[matrix] == new_decode[matrix]) return 1.0f;
    return quotient(old_decode[matrix], new_decode[matrix]);
  };
  if (!TILES && cols % 4 == 0 && Square::fits<FROM>(scales, scales_stride) && Square::fits<TO>(arranged, arranged_stride)) {
    const i64 pieces = Square::pieces(new_padded_cols), bands = Square::bands(new_padded);
    DIECAST_NO_UNROLL
    for (Walk at(pieces, bands, batch); at.row < batch * bands; at.next()) {
      Square square(at.find(bands), at.piece);
      square.read<FROM>(scales + at.matrix * old_padded * scales_stride, scales_stride, rows, cols);
      if constexpr (RESCALE) {
        const f32 by = ratio(at.matrix);
        square.change(rows, cols, [&](u32 word) { return rescaled(word, by) | rescaled(word >> 16, by) << 16; });
      }
      square.write<TO>(arranged + at.matrix * new_padded * arranged_stride, arranged_stride, new_padded, new_padded_cols);
    }
    return;
  }
  // A thread takes a byte.
  DIECAST_NO_UNROLL
  for (Walk at(new_padded_cols, new_padded, batch); at.row < batch * new_padded; at.next()) {
    const i64 row = at.find(new_padded);
    u8 byte = 0;
    if (row < new_rows && at.piece < new_cols) {
      const u8* from = scales + at.matrix * old_padded * scales_stride;
      byte = TILES ? from[Old::offset(16 * at.piece, row / 16, scales_stride)] : from[Old::offset(row, at.piece, scales_stride)];
      if constexpr (RESCALE) byte = static_cast<u8>(rescaled(byte, ratio(at.matrix)));
    }
    u8* to = arranged + at.matrix * new_padded * arranged_stride;
    to[New::offset(row, at.piece, arranged_stride)] = byte;
  }
}
