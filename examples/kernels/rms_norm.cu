// rms_norm: every row over the root of its mean square, times a weight. A residual is added before,
// and the sum kept in its place.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of all tensors
let      THREADS = 256                           // the order of sums: no tune
tune     int   blocks  {1, 4, 16} = 16           // blocks a multiprocessor, at most
size     rows
size     cols
arg      x        in    IN   [rows, cols]  stride
arg      residual inout IN   [rows, cols]  optional
arg      weight   in    IN   [cols]        optional
arg      y        out   IN   [rows, cols]  stride
arg      rows
arg      cols
arg      eps      f32
launch   grid(min(rows, sm_count * blocks)) block(THREADS)
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <diecast/device/numbers/convert.h>
#include <kernels/block.h>

DIECAST_KERNEL {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const auto value = [&](i64 i) {
      if constexpr (HAS_RESIDUAL) return to_f32(residual[row * cols + i]);
      return to_f32(x[row * x_stride + i]);
    };
    f32 squares = 0;
    for (i64 i = threadIdx.x; i < cols; i += THREADS) {
      if constexpr (HAS_RESIDUAL) residual[row * cols + i] = from_f32<IN>(to_f32(x[row * x_stride + i]) + value(i));
      squares = fmaf(value(i), value(i), squares);
    }
    const f32 root = __fsqrt_rn(__fdiv_rn(block_sum<THREADS>(squares), static_cast<f32>(cols)) + eps);
    for (i64 i = threadIdx.x; i < cols; i += THREADS) {
      f32 scaled = __fdiv_rn(value(i), root);
      if constexpr (HAS_WEIGHT) scaled *= to_f32(weight[i]);
      y[row * y_stride + i] = from_f32<IN>(scaled);
    }
  }
}
