// scan: every element of a row becomes the sum of those up to it.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x and y
let      THREADS = 256                           // the order of sums: no tune
tune     int   blocks  {1, 4, 16} = 16           // blocks a multiprocessor, at most
size     rows
size     cols
arg      x      in   IN   [rows, cols]  stride
arg      y      out  IN   [rows, cols]  stride
arg      rows
arg      cols
launch   grid(min(rows, sm_count * blocks)) block(THREADS)
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <diecast/device/numbers/convert.h>

DIECAST_KERNEL {
  __shared__ f32 of_warps[THREADS / 32];
  const u32 lane = threadIdx.x % 32, own = threadIdx.x / 32;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    f32 before = 0;  // the sum of the row up to this stretch of it
    for (i64 i = threadIdx.x; i - threadIdx.x < cols; i += THREADS) {
      f32 sum = i < cols ? to_f32(x[row * x_stride + i]) : 0.0f;
      for (u32 distance = 1; distance < 32; distance *= 2) {
        const f32 other = __shfl_up_sync(0xFFFFFFFFu, sum, distance);
        if (lane >= distance) sum += other;
      }
      if (lane == 31) of_warps[own] = sum;
      __syncthreads();
      for (u32 warp = 0; warp < THREADS / 32; ++warp) {
        if (warp == own) sum += before;
        before += of_warps[warp];
      }
      if (i < cols) y[row * y_stride + i] = from_f32<IN>(sum);
      __syncthreads();  // whoever still reads of_warps
    }
  }
}
