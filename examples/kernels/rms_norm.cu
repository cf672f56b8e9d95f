// rms_norm: every row over the root of its mean square, times a weight. A residual is added before,
// and the sum kept in its place.
/* diecast
option   type  IN      {bf16, f16, f32}          // element type of all tensors
let      THREADS = 512                           // the order of sums: no tune
let      HELD = bits(IN) / 8                     // pieces that a thread keeps: 8192 elements of a row
size     rows
size     cols
arg      x        in    IN   [rows, cols]  stride
arg      residual inout IN   [rows, cols]  optional
arg      weight   in    IN   [cols]        optional
arg      y        out   IN   [rows, cols]  stride
arg      rows
arg      cols
arg      eps      f32
launch   grid(rows) block(THREADS) dependent
sample   rows {0, 1, 7}  cols {1, 100, 1000}
*/
#include <diecast/device/threads/block_join.h>
#include <kernels/piece.h>

DIECAST_KERNEL {
  const IN *const from = x + blockIdx.x * x_stride, *const factors = weight;
  IN *const to = y + blockIdx.x * y_stride, *sums = nullptr;
  if constexpr (HAS_RESIDUAL) sums = residual + blockIdx.x * cols;
  const auto row = [&](auto whole) {
    constexpr bool kWhole = decltype(whole)::value;
    const auto load = [&](i64 at, f32* values) {
      load_piece<IN, kWhole>(from + at, cols - at, 0, values);
      if constexpr (!HAS_RESIDUAL) return;
      f32 more[kPiece<IN>];
      load_piece<IN, kWhole>(sums + at, cols - at, 0, more);
      for (int i = 0; i < kPiece<IN>; ++i) values[i] = to_f32(from_f32<IN>(values[i] + more[i]));
    };
    HeldPieces<IN, THREADS, kWhole ? HELD : 1> pieces(load);  // addresses of single elements take the registers
    f32 squares = 0;
    pieces.each(cols, load, [&](i64 at, f32* values, bool) {
      if constexpr (HAS_RESIDUAL) store_piece<IN, kWhole>(sums + at, cols - at, values);
      for (int i = 0; i < kPiece<IN>; ++i) squares = fmaf(values[i], values[i], squares);
    });
    const f32 factor = __frcp_rn(__fsqrt_rn(__fdiv_rn(block_sum<THREADS>(squares), static_cast<f32>(cols)) + eps));
    const auto again = [&](i64 at, f32* values) { load_piece<IN, kWhole>((HAS_RESIDUAL ? sums : from) + at, cols - at, 0, values); };
    pieces.each(cols, again, [&](i64 at, f32* values, bool) {
      f32 by[kPiece<IN>];
      if constexpr (HAS_WEIGHT) load_piece<IN, kWhole>(factors + at, cols - at, 0, by);
      for (int i = 0; i < kPiece<IN>; ++i) values[i] = values[i] * factor * (HAS_WEIGHT ? by[i] : 1.0f);
      store_piece<IN, kWhole>(to + at, cols - at, values);
    });
  };
  in_pieces<IN>(cols, row, from, sums, to, factors);
}
