// gemv: y = w x + bias. The threads of a block each sum a part of a row: how many there are rounds
// the sum in another order.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of all tensors
tune     int   THREADS {64, 128, 256} = 128 approx
size     n
size     k
arg      w      in   IN   [n, k]  stride settled
arg      x      in   IN   [k]
arg      bias   in   IN   [n]     optional settled
arg      y      out  IN   [n]
arg      n
arg      k
launch   grid(n) block(THREADS) dependent
sample   n {0, 1, 7}  k {1, 100, 1000}
*/
#include <diecast/device/numbers/convert.h>
#include <kernels/block.h>

DIECAST_KERNEL {
  const i64 row = blockIdx.x;
  f32 sum = 0;
  for (i64 i = threadIdx.x; i < k; i += THREADS) sum = fmaf(to_f32(w[row * w_stride + i]), to_f32(x[i]), sum);
  sum = block_sum<THREADS>(sum);
  if (threadIdx.x != 0) return;
  if constexpr (HAS_BIAS) sum += to_f32(bias[row]);
  y[row] = from_f32<IN>(sum);
}
