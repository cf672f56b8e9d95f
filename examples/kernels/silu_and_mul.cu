// silu_and_mul: of a row's two halves silu(first) * second, each product rounded once; LIMIT cuts
// the halves off first, as some models do.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x and y
option   float LIMIT   {0, 7.0} = 0              // largest gate, and magnitude of the other half; 0: none
tune     int   THREADS {128, 256} = 256
tune     int   blocks  {4, 16} = 16              // blocks a multiprocessor, at most
size     rows
size     cols
arg      x      in   IN   [rows, 2 * cols]  stride
arg      y      out  IN   [rows, cols]      stride
arg      rows
arg      cols
launch   grid(min(rows * ceil_div(cols, THREADS), sm_count * blocks)) block(THREADS)
exchange none
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <diecast/device/math/activations.h>

DIECAST_KERNEL {
  for (i64 i = i64{blockIdx.x} * THREADS + threadIdx.x; i < rows * cols; i += i64{gridDim.x} * THREADS) {
    const i64 row = i / cols, col = i % cols;
    f32 gate = to_f32(x[row * x_stride + col]), up = to_f32(x[row * x_stride + cols + col]);
    if constexpr (LIMIT > 0) {
      gate = fminf(gate, LIMIT);
      up = fmaxf(fminf(up, LIMIT), -LIMIT);
    }
    y[row * y_stride + col] = from_f32<IN>(math::silu(gate) * up);
  }
}
