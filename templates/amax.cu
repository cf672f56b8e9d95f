// amax: the largest absolute value of a row-major [rows, cols] matrix, of the whole or of each row;
// NaN is ignored, infinity is kept, nothing gives 0. The caller fills amax with zeros first: maxima
// of many blocks of threads meet there, as the integers that non-negative floats compare by.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    bool  ALIGNED = true                            // every row of x starts at a multiple of 16 bytes
option   type  IN      {bf16, f16, f32}                  // element type of x
option   enum  PER     {tensor, row} = tensor            // one maximum in all, or one a row
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 2, 8, 32} = 8                 // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS
arg      x      in     IN   [rows, cols]  stride  align (ALIGNED ? 16 : bits(IN) / 8)
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

// A warp takes spans of 512 neighbours of a row: a block of 16 a lane.
constexpr i64 kSpan = 512;

DIECAST_DEVICE f32 amax_of_span(const IN* from, i64 count) {
  const i64 first = i64{threadIdx.x % 32} * 16;
  if (first >= count) return 0.0f;
  return amax_of(ALIGNED && count - first >= 16 ? load_block16(from + first)
                                                : load_block16_elements(from + first, count - first));
}

DIECAST_KERNEL {
  // A dense matrix with one maximum is one long row.
  const bool one_run = PER == PER_tensor && x_stride == cols;
  const i64 run = one_run ? rows * cols : cols;
  RowWalk at(ceil_div(run, kSpan), (blockIdx.x * THREADS + threadIdx.x) / 32,
             gridDim.x * (THREADS / 32));
  const i64 spans = (one_run ? 1 : rows) * at.row_pieces;
  f32 found = 0.0f;
DIECAST_NO_UNROLL
  for (; at.index < spans; at.next()) {
    const i64 first = at.piece * kSpan;
    found = fmaxf(found, amax_of_span(x + at.row * x_stride + first, run - first));
    if (PER == PER_row) {
      found = warp_reduce_max(found);
      if (threadIdx.x % 32 == 0) {
        atomicMax(reinterpret_cast<u32*>(amax + at.row), __float_as_uint(found));
      }
      found = 0.0f;
    }
  }
  if (PER == PER_tensor) {
    found = warp_reduce_max(found);
    if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<u32*>(amax), __float_as_uint(found));
  }
}
