// A linear layer: what its kernels take, and what becomes of a sum. The sums are those of weights times 2^-7. Each step
// rounds once, in f32: times 2^7 * factor, plus bias, the activation, plus residual; last to OUT. FACTORS, parts: the weight is of
// parts with global scales of their own. Then factor has, where GATED, gate's and up's, else, as of q, k and v, one for each row.
/* diecast
use    <diecast/device/linear/linear_options.h>
option enum FACTORS {one, parts} = one               // what factor has
let    ROW_FACTORS = FACTORS == parts && !GATED      // one for each row of the weight
let    UP_FACTOR   = FACTORS == parts && GATED ? 1 : 0  // where up's lies
size   rows  device                                  // of x and out
size   cols                                          // of out
size   depth divisible SCALE_BLOCK
arg    x        in  IN   [rows, depth]  stride  align 16
arg    packed   in  u8   [ceil_div(GATED ? 2 * cols : cols, 64) * ceil_div(depth, 64), TILE_BYTES]  align 16
arg    factor   in  f32  [ROW_FACTORS ? cols : 1 + UP_FACTOR]  // the global scales
arg    bias     in  IN   [GATED ? 2 * cols : cols]  optional  // of the weights' rows; where GATED, all gates' first
arg    residual in  OUT  [rows, cols]  optional
arg    out      out OUT  [rows, cols]
arg    rows
arg    cols
arg    depth
arg    settled  i32                         // not 0: no launch before writes packed, which may be read before that one has ended
sample rows {0, 1, 9, 40}  cols {8, 44, 136}  depth {32, 96, 320}
*/
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/linear_options.h>
#include <diecast/device/math/activations.h>
#include <diecast/device/numbers/convert.h>

namespace diecast {

// Calls: long, and once for each of a thread's sums.
DIECAST_DEVICE_CALL f32 silu_of_gate(f32 x) { return math::silu(x); }
DIECAST_DEVICE_CALL f32 sigmoid_of_gate(f32 x) { return math::sigmoid(x); }

// silu_and_mul and swiglu_oai: `second` is what the gate multiplies. Else of `first` alone. NaN stays NaN.
template <int Activation>
DIECAST_DEVICE f32 activated(f32 first, f32 second, f32 alpha, f32 limit) {
  if constexpr (Activation == ACTIVATION_silu_and_mul) return __fmul_rn(silu_of_gate(first), second);
  if constexpr (Activation == ACTIVATION_swiglu_oai) {
    const f32 gate = first > limit ? limit : first;
    const f32 up = second > limit ? limit : second < -limit ? -limit : second;
    return __fmul_rn(__fadd_rn(up, 1.0f), __fmul_rn(gate, sigmoid_of_gate(__fmul_rn(alpha, gate))));
  }
  if constexpr (Activation == ACTIVATION_relu2) return first < 0.0f ? 0.0f : __fmul_rn(first, first);
  return first;
}

// Where sums go: two at a time, of weight rows r and r + 8.
template <int Activation, bool HasBias, bool HasResidual, class In, class Out, bool RowFactors = false>
struct LinearResult {
  static constexpr bool kGated = Activation == ACTIVATION_silu_and_mul || Activation == ACTIVATION_swiglu_oai;
  const In* bias;
  const Out* residual;
  Out* out;
  i64 rows, cols;
  f32 factor;  // 2^7 included, or alone where rows of weights have factors
  f32 alpha, limit;
  const f32* row_factors = nullptr;
  f32 second_factor = factor;  // of what a gate multiplies

  // `row`: of the weights, where gated all gates' first.
  DIECAST_DEVICE f32 scaled(f32 sum, f32 by, i64 row) const {
    if constexpr (RowFactors) by = __fmul_rn(row_factors[row], by);
    const f32 x = __fmul_rn(sum, by);
    return HasBias ? __fadd_rn(x, to_f32(bias[row])) : x;
  }
  // The element of column `col` before the residual; `second`: of what the gate multiplies.
  DIECAST_DEVICE f32 element(f32 first, f32 second, i64 col) const {
    const f32 x = scaled(first, factor, col);
    if constexpr (Activation == ACTIVATION_none) return x;
    return activated<Activation>(x, kGated ? scaled(second, second_factor, cols + col) : 0.0f, alpha, limit);
  }
  DIECAST_DEVICE void put(i64 row, i64 col, f32 x) const {
    const i64 at = row * cols + col;
    if constexpr (HasResidual) x = __fadd_rn(x, to_f32(residual[at]));
    out[at] = from_f32<Out>(x);
  }
  DIECAST_DEVICE void store(i64 row, i64 weight_row, f32 first, f32 second) const {
    if (row >= rows) return;
    if constexpr (kGated) {
      const i64 col = weight_row / 16 * 8 + weight_row % 8;
      if (col >= cols) return;
      put(row, col, element(first, second, col));
    } else {
      if (weight_row < cols) put(row, weight_row, element(first, 0.0f, weight_row));
      weight_row += 8;
      if (weight_row < cols) put(row, weight_row, element(second, 0.0f, weight_row));
    }
  }
};

}  // namespace diecast
