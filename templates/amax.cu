// amax: the largest absolute value of a row-major [rows, cols] matrix, of the whole or of each row;
// NaN is ignored, infinity is kept, nothing gives 0. The caller fills amax with zeros first: maxima
// of many blocks of threads meet there, as the integers that non-negative floats compare by.
// ROWS_dense: whole blocks of 16, row after row without a gap, from a multiple of 16 bytes on.
// ROWS_apart: whole blocks, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {dense, apart, any} = dense       // what is known of x's rows, see above
option   type  IN      {bf16, f16, f32}                  // element type of x
option   enum  PER     {tensor, row} = tensor            // one maximum in all, or one a row
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 2, 8, 32} = 8                 // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : 16)
arg      x      in     IN   [rows, cols]  stride (ROWS != ROWS_dense)  align (ROWS == ROWS_any ? bits(IN) / 8 : 16)
arg      amax   inout  f32  [PER == PER_row ? rows : 1]
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(rows * ceil_div(cols, 512) * 32, THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange warp                                            // a warp reduces what it has read
sample   COLS {0, 80}  rows {0, 1, 7, 33}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/block16.h>
#include <diecast/device/reduce.h>
#include <diecast/device/row_walk.h>

// A thread reads blocks of 16; for a maximum a row, a warp takes spans of 32 blocks of one row.
constexpr i64 kSpan = 512;

DIECAST_DEVICE f32 amax_of_block(const IN* from, i64 count) {
  if constexpr (ROWS == ROWS_any) {
    return amax_of(load_block16_elements(from, count));
  } else {
    return amax_of(load_block16(from));
  }
}

DIECAST_DEVICE void keep_maximum(f32* at, f32 found) {
  found = warp_reduce_max(found);
  if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<u32*>(at), __float_as_uint(found));
}

DIECAST_KERNEL {
  const u32 thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  if constexpr (PER == PER_row) {
    const i64 lane = threadIdx.x % 32 * 16;
    RowWalk at(ceil_div(cols, kSpan), thread / 32, threads / 32);
    const i64 spans = rows * at.row_pieces;
DIECAST_NO_UNROLL
    for (; at.index < spans; at.next()) {
      const i64 first = at.piece * kSpan + lane;
      const IN* from = x + at.row * x_stride + first;
      keep_maximum(amax + at.row, first < cols ? amax_of_block(from, cols - first) : 0.0f);
    }
  } else {
    f32 found = 0.0f;
    const i64 row_blocks = ceil_div(cols, 16), blocks = rows * row_blocks;
    if constexpr (ROWS == ROWS_dense) {
DIECAST_NO_UNROLL
      for (i64 i = thread; i < blocks; i += threads) {
        found = fmaxf(found, amax_of(load_block16(x + i * 16)));
      }
    } else {
DIECAST_NO_UNROLL
      for (RowWalk at(row_blocks, thread, threads); at.index < blocks; at.next()) {
        const i64 first = at.piece * 16;
        found = fmaxf(found, amax_of_block(x + at.row * x_stride + first, cols - first));
      }
    }
    keep_maximum(amax, found);
  }
}
