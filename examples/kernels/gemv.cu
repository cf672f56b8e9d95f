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
#include <diecast/device/threads/block_join.h>
#include <kernels/piece.h>

DIECAST_KERNEL {
  const IN *const from = w + blockIdx.x * w_stride, *const by = x;
  f32 sum = 0;
  const auto row = [&](auto whole) {
    constexpr bool kWhole = decltype(whole)::value;
    const auto load = [&](i64 at, f32* left) { load_piece<IN, kWhole>(from + at, k - at, 0, left); };
    HeldPieces<IN, THREADS, 4>(load).each(k, load, [&](i64 at, f32* left, bool) {
      f32 right[kPiece<IN>];
      load_piece<IN, kWhole>(by + at, k - at, 0, right);
      for (int i = 0; i < kPiece<IN>; ++i) sum = fmaf(left[i], right[i], sum);
    });
  };
  in_pieces<IN>(k, row, from, by);
  sum = block_sum<THREADS>(sum);
  if (threadIdx.x != 0) return;
  if constexpr (HAS_BIAS) sum += to_f32(bias[blockIdx.x]);
  y[blockIdx.x] = from_f32<IN>(sum);
}
