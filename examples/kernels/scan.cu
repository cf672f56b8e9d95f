// scan: every element of a row becomes the sum of those up to it.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x and y
let      THREADS = 512                           // the order of sums: no tune
let      HELD = bits(IN) / 8                     // pieces that a thread takes at once
size     rows
size     cols
arg      x      in   IN   [rows, cols]  stride
arg      y      out  IN   [rows, cols]  stride
arg      rows
arg      cols
launch   grid(rows) block(THREADS) dependent
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <kernels/piece.h>

DIECAST_KERNEL {
  constexpr int kWarps = THREADS / 32;
  __shared__ f32 of_warps[HELD * kWarps];
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32;
  const IN* const from = x + blockIdx.x * x_stride;
  IN* const to = y + blockIdx.x * y_stride;
  f32 before = 0;  // the sum of the row up to this stretch of it
  const auto add = [&](auto whole) {
    constexpr bool kWhole = decltype(whole)::value;
    for (i64 start = 0; start < cols; start += THREADS * HELD * kPiece<IN>) {
      HeldPieces<IN, THREADS, HELD> pieces(
          [&](i64 at, f32* values) { load_piece<IN, kWhole>(from + start + at, cols - start - at, 0, values); });
      f32 others[HELD];  // the sum of the lanes before, then of all elements before
      for (int h = 0; h < HELD; ++h) {
        f32* const of = pieces.values[h];
        for (int i = 1; i < kPiece<IN>; ++i) of[i] += of[i - 1];
        f32 sum = of[kPiece<IN> - 1];
        for (int distance = 1; distance < 32; distance *= 2) {
          const f32 other = __shfl_up_sync(0xFFFFFFFFu, sum, distance);
          if (lane >= distance) sum += other;
        }
        others[h] = __shfl_up_sync(0xFFFFFFFFu, sum, 1);
        if (lane == 31) of_warps[h * kWarps + own] = sum;
      }
      __syncthreads();
      for (int part = 0; part < HELD * kWarps; ++part) {
        if (part % kWarps == own) others[part / kWarps] = before + (lane == 0 ? 0.0f : others[part / kWarps]);
        before += of_warps[part];
      }
      for (int h = 0; h < HELD; ++h) {
        for (int i = 0; i < kPiece<IN>; ++i) pieces.values[h][i] += others[h];
        const i64 at = start + pieces.first(h);
        store_piece<IN, kWhole>(to + at, cols - at, pieces.values[h]);
      }
      __syncthreads();  // whoever still reads of_warps
    }
  };
  in_pieces<IN>(cols, add, from, to);
}
