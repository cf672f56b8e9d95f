// What becomes of an element of a product, its sum under the factor given: one rounding a step. Both
// gemm_nvfp4 and finish_product end so.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/types.h>

namespace diecast {

// x: the sum, times (alpha * unit) where RowScaled. Times both amaxes, by their product where `once`
// (RowScaled); plus bias (Bias); as Out; added to `before` (Accumulate). What is not asked for is not read.
template <bool RowScaled, bool Bias, bool Accumulate, class Out, class BiasType>
DIECAST_DEVICE Out finished(f32 x, const f32* of_row, const f32* of_col, bool once, const BiasType* bias,
                            f32 before) {
  if constexpr (RowScaled) x = once ? x * (*of_row * *of_col) : (x * *of_row) * *of_col;
  if constexpr (Bias) x += to_f32(*bias);
  Out y = from_f32<Out>(x);
  if constexpr (Accumulate) y = from_f32<Out>(before + to_f32(y));
  return y;
}

}  // namespace diecast
