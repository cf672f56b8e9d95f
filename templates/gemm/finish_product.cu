// finish_product: out [rows, cols] of the sums of an NVFP4 product that another library made with a
// factor of 1: times the factor, under both amaxes, plus bias, to OUT, added to what is there, each step
// as gemm_nvfp4 has it. One pass over the output.
/* diecast
option   type  OUT       {bf16, f16, f32}                // element type of out
option   bool  IN_PLACE  = false                         // out holds the sums
use      <diecast/device/gemm/finished.h>                // A_ROW_SCALE, B_ROW_SCALE, BIAS, BIAS_TYPE, ACCUMULATE
tune     int   THREADS   {128, 256} = 256
tune     int   waves     {1, 8, 64, 256} = 256           // the most thread blocks a multiprocessor gets
size     rows
size     cols  divisible 8
arg      sums    in    f32  [IN_PLACE ? 0 : rows, cols]  align 16
arg      a_amax  in    f32  [A_ROW_SCALE ? rows : 1]
arg      b_amax  in    f32  [B_ROW_SCALE ? cols : 1]
arg      bias    in    BIAS_TYPE  [BIAS ? 1 : 0, cols]
arg      out     inout OUT  [rows, cols]  align 16
arg      rows
arg      cols
arg      alpha   f32
arg      unit    f32                                     // 1 / (6 * bound of a * 6 * bound of b)
require  !IN_PLACE || (OUT == f32 && !ACCUMULATE)        // out cannot hold sums and what they are added to
launch   grid(min(ceil_div(rows * (cols / 8), THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   rows {0, 1, 7, 130}  cols {8, 40, 296}
*/
#include <diecast/device/numbers/eight.h>
#include <diecast/device/threads/row_walk.h>

constexpr bool kRowScaled = A_ROW_SCALE || B_ROW_SCALE;

DIECAST_KERNEL {
  const f32 factor = kRowScaled ? alpha * unit : ((alpha * *b_amax) * *a_amax) * unit;
  const bool once = !A_ROW_SCALE || !B_ROW_SCALE || rows == 1 || cols == 1;
  const i64 pieces = rows * (cols / 8);
  DIECAST_NO_UNROLL
  for (RowWalk at(cols / 8, rows, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS); at.index < pieces; at.next()) {
    const i64 first = 8 * at.index, col = 8 * at.piece;
    Eight<f32> x;
    Eight<OUT> before, y;
    if constexpr (IN_PLACE)
      x.load<true>(reinterpret_cast<const f32*>(out + first), 8);
    else
      x.load<true>(sums + first, 8);
    if constexpr (ACCUMULATE) before.load<true>(out + first, 8);
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      const OUT one = finished<kRowScaled, BIAS, ACCUMULATE, OUT, BIAS_TYPE>(
          x.element(i) * factor, a_amax + (A_ROW_SCALE ? at.row : 0), b_amax + (B_ROW_SCALE ? col + i : 0), once,
          bias + (BIAS ? col + i : 0), before.element(i));
      y.words[i / y.kPerWord] |= to_bits(one) << (i % y.kPerWord * bits<OUT>());
    }
    y.store<true>(out + first, 8);
  }
}
