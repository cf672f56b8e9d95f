// amax: the largest absolute value of a row-major [rows, cols] matrix: of the whole, of each row, of
// each column, of every BLOCK neighbours of a row, or of every 16x16 tile (both cut off at the edges).
// Infinity is kept, nothing gives 0. For tensor, row and column the caller fills amax with zeros
// first: maxima of many thread blocks meet there, as the integers that magnitudes compare by.
// ROWS_dense: whole blocks of 16, row after row without a gap, from a multiple of 16 bytes on.
// ROWS_apart: whole blocks, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {dense, apart, any} = dense       // what is known of the rows, see above
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
option   enum  PER     {tensor, row, column, block, tile} = tensor  // what a maximum is of
option   int   BLOCK   {8, 16, 32, 64, 128} = 16         // neighbours of a row that share one maximum
use      <diecast/device/blocks/amax.h>                  // NANS, RHT, SIGN_MASK
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 2, 8, 32} = 8                 // the most thread blocks a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : 16)
arg      x      in     IN   [rows, cols]  stride (ROWS != dense)  align (ROWS == any ? bits(IN) / 8 : 16)
arg      amax   inout  f32  [PER in {row, block} ? rows : PER == tile ? ceil_div(rows, 16) : 1,
                             PER == column ? cols : PER in {block, tile} ? ceil_div(cols, BLOCK) : 1]
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  BLOCK == 16 || PER == block                     // a block's width is of maxima per block
require  BLOCK != 8 || RHT == none                       // the transform has blocks of 16
require  RHT != columnwise || PER in {tensor, column}    // blocks along a column cross rows and tiles
launch   grid(min(ceil_div(DOWN ? ceil_div(rows, 64) * align_up(cols, 32)
                           : PER == tile ? ceil_div(rows, 16) * ceil_div(cols, 16)
                           : rows * ceil_div(cols, 512) * 32, THREADS), sm_count * waves)) block(THREADS)
launch   dependent
exchange warp                                            // a warp reduces what it has read
sample   COLS {0, 80}  rows {0, 1, 7, 33}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/threads/dependent.h>
#include <diecast/device/threads/row_walk.h>

using Amax = AmaxOf<IN, ROWS != ROWS_any && BLOCK % 16 == 0, RHT, SIGN_MASK, NANS == NANS_propagate>;

// A thread reads blocks of 16; for a maximum a row, a warp takes spans of 32 blocks of one row.
constexpr i64 kSpan = 512;
// Down the columns a lane takes 64 rows of one.
constexpr int kColumnRows = 64;

DIECAST_KERNEL {
  const u32 thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  const i64 row_blocks = ceil_div(cols, 16);
  if constexpr (DOWN) {
    f32 found = 0.0f;
    RowWalk at(ceil_div(cols, 32), ceil_div(rows, kColumnRows), thread / 32, threads / 32, COLS != 0);
    const i64 strips = ceil_div(rows, kColumnRows) * at.row_pieces;
    DIECAST_NO_UNROLL
    for (; at.index < strips; at.next()) {
      const i64 col = at.piece * 32 + threadIdx.x % 32, first = at.row * kColumnRows;
      if (col >= cols) continue;
      const i64 last = min(first + kColumnRows, rows);
      const f32 of_strip = Amax::down(x + first * x_stride + col, x_stride, last - first);
      found = Amax::larger(found, of_strip);
      if constexpr (PER == PER_column) Amax::meet(amax + col, of_strip);
    }
    if constexpr (PER == PER_tensor) Amax::meet_block<THREADS>(amax, found);
  } else if constexpr (PER == PER_row) {
    const i64 lane = threadIdx.x % 32 * 16;
    RowWalk at(ceil_div(cols, kSpan), rows, thread / 32, threads / 32, COLS != 0);
    const i64 spans = rows * at.row_pieces;
    DIECAST_NO_UNROLL
    for (; at.index < spans; at.next()) {
      const i64 first = at.piece * kSpan + lane;
      const IN* from = x + at.row * x_stride + first;
      Amax::meet_warp(amax + at.row, first < cols ? Amax::block(from, cols - first) : 0.0f);
    }
  } else if constexpr (PER == PER_block || PER == PER_tile) {
    constexpr int kRows = PER == PER_tile ? 16 : 1;
    RowWalk at(ceil_div(cols, BLOCK), ceil_div(rows, kRows), thread, threads, COLS != 0);
    const i64 all = ceil_div(rows, kRows) * at.row_pieces;
    DIECAST_NO_UNROLL
    for (; at.index < all; at.next()) {
      const i64 first = at.piece * BLOCK, last = min(first + BLOCK, cols);
      f32 found = 0.0f;
      DIECAST_NO_UNROLL
      for (i64 row = at.row * kRows; row < min(at.row * kRows + kRows, rows); ++row) {
        DIECAST_NO_UNROLL
        for (i64 col = first; col < last; col += 16) {
          found = Amax::larger(found, Amax::block(x + row * x_stride + col, last - col));
        }
      }
      amax[at.index] = found;
    }
  } else {
    f32 found = 0.0f;
    const i64 blocks = rows * row_blocks;
    if constexpr (ROWS == ROWS_dense) {
      found = Amax::blocks(x, Share(blocks, thread, threads));
    } else {
      DIECAST_NO_UNROLL
      for (RowWalk at(row_blocks, rows, thread, threads, COLS != 0); at.index < blocks; at.next()) {
        const i64 first = at.piece * 16;
        found = Amax::larger(found, Amax::block(x + at.row * x_stride + first, cols - first));
      }
    }
    next_may_begin(found);
    Amax::meet_block<THREADS>(amax, found);
  }
}
