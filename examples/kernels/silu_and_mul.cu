// silu_and_mul: of a row's two halves silu(first) * second, each product rounded once; LIMIT cuts
// the halves off first, as some models do.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x and y
option   float LIMIT   {0, 7.0} = 0              // largest gate, and magnitude of the other half; 0: none
tune     int   THREADS {64, 128, 256} = 128
tune     int   blocks  {4, 16, 64} = 16          // rows at once for each multiprocessor, at most
size     rows
size     cols
arg      x      in   IN   [rows, 2 * cols]  stride
arg      y      out  IN   [rows, cols]      stride
arg      rows
arg      cols
launch   grid(ceil_div(cols, THREADS * 64 / bits(IN)), min(rows, sm_count * blocks)) block(THREADS) dependent(late)
exchange none
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <diecast/device/math/activations.h>
#include <diecast/device/threads/dependent.h>
#include <kernels/piece.h>

DIECAST_KERNEL {
  constexpr int N = kPiece<IN> / 2;  // a thread's: it computes long for each
  const i64 first = (i64{blockIdx.x} * THREADS + threadIdx.x) * N;
  if (first >= cols) return;
  const auto multiply = [&](auto whole) {
    constexpr bool kWhole = decltype(whole)::value;
    const i64 left = kWhole ? N : cols - first;
    launch_before_ended();
    for (i64 row = blockIdx.y; row < rows; row += gridDim.y) {
      f32 gate[N], up[N];
      load_piece<IN, kWhole, N>(x + (row * x_stride + first), left, 0, gate);
      load_piece<IN, kWhole, N>(x + (row * x_stride + cols + first), left, 0, up);
      for (int i = 0; i < N; ++i) {
        if constexpr (LIMIT > 0) {
          gate[i] = fminf(gate[i], LIMIT);
          up[i] = fmaxf(fminf(up[i], LIMIT), -LIMIT);
        }
        up[i] = math::silu(gate[i]) * up[i];
      }
      store_piece<IN, kWhole, N>(y + (row * y_stride + first), left, up);
    }
  };
  const i64 second = rows > 1 ? 1 : 0;  // where it begins says where all rows do
  in_pieces<IN>(cols, multiply, &x[0], &x[second * x_stride], &y[0], &y[second * y_stride]);
}
