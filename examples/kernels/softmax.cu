// softmax: e^x of every element of a row over their sum, the row's largest element taken off first.
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
launch   resident(6)                             // 40 registers a thread: some targets would spill into fewer
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <diecast/device/math/exp.h>
#include <kernels/block.h>

DIECAST_KERNEL {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const IN* const from = x + row * x_stride;
    IN* const to = y + row * y_stride;
    f32 largest = -INFINITY, sum = 0;
    for (i64 i = threadIdx.x; i < cols; i += THREADS) largest = fmaxf(largest, to_f32(from[i]));
    largest = block_max<THREADS>(largest);
    for (i64 i = threadIdx.x; i < cols; i += THREADS) sum += math::exp(to_f32(from[i]) - largest);
    sum = block_sum<THREADS>(sum);
    for (i64 i = threadIdx.x; i < cols; i += THREADS) to[i] = from_f32<IN>(__fdiv_rn(math::exp(to_f32(from[i]) - largest), sum));
  }
}
