// softmax: e^x of every element of a row over their sum, the row's largest element taken off first.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of x and y
let      THREADS = 256                           // the order of sums: no tune
let      HELD = bits(IN) / 4                     // pieces that a thread keeps: 8192 elements of a row
size     rows
size     cols
arg      x      in   IN   [rows, cols]  stride
arg      y      out  IN   [rows, cols]  stride
arg      rows
arg      cols
launch   grid(rows) block(THREADS) dependent
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <diecast/device/math/exp.h>
#include <diecast/device/threads/block_join.h>
#include <kernels/piece.h>

DIECAST_KERNEL {
  const IN* const from = x + blockIdx.x * x_stride;
  IN* const to = y + blockIdx.x * y_stride;
  const auto row = [&](auto whole) {
    constexpr bool kWhole = decltype(whole)::value;
    const auto load = [&](i64 at, f32* values) { load_piece<IN, kWhole>(from + at, cols - at, -INFINITY, values); };
    HeldPieces<IN, THREADS, HELD> pieces(load);
    f32 largest = -INFINITY, sum = 0;
    pieces.each(cols, load, [&](i64, f32* values, bool) {
      for (int i = 0; i < kPiece<IN>; ++i) largest = fmaxf(largest, values[i]);
    });
    largest = block_max<THREADS>(largest);
    pieces.each(cols, load, [&](i64, f32* values, bool) {
      for (int i = 0; i < kPiece<IN>; ++i) sum += values[i] = math::exp(values[i] - largest);
    });
    const f32 factor = __frcp_rn(block_sum<THREADS>(sum));
    pieces.each(cols, load, [&](i64 at, f32* values, bool kept) {
      for (int i = 0; i < kPiece<IN>; ++i) values[i] = (kept ? values[i] : math::exp(values[i] - largest)) * factor;
      store_piece<IN, kWhole>(to + at, cols - at, values);
    });
  };
  in_pieces<IN>(cols, row, from, to);
}
