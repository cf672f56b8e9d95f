// What becomes of an element of a product, its sum under the factor given: one rounding a step. Both
// gemm_nvfp4 and finish_product end so.
/* diecast
option bool A_ROW_SCALE = false               // a_amax has an entry a row of out
option bool B_ROW_SCALE = false               // b_amax has an entry a column of out
option bool BIAS = false                      // a bias is added to every row
option type BIAS_TYPE {bf16, f16, f32} = f32  // its element type
option bool ACCUMULATE = false                // out holds what the product is added to
require BIAS || BIAS_TYPE == f32              // a bias that is not there has no type
*/
#pragma once

#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>

namespace diecast {

// x: the sum, times (alpha * unit) where RowScaled. Times both amaxes, by their product where `once`
// (RowScaled); plus bias (Bias); as Out; added to `before` (Accumulate). What is not asked for is not read.
template <bool RowScaled, bool Bias, bool Accumulate, class Out, class BiasType>
DIECAST_DEVICE Out finished(f32 x, const f32* of_row, const f32* of_col, bool once, const BiasType* bias, f32 before) {
  if constexpr (RowScaled) x = once ? x * (*of_row * *of_col) : (x * *of_row) * *of_col;
  if constexpr (Bias) x += to_f32(*bias);
  Out y = from_f32<Out>(x);
  if constexpr (Accumulate) y = from_f32<Out>(before + to_f32(y));
  return y;
}

}  // namespace diecast
