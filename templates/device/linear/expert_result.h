// A linear layer of experts: what its kernels take, and where sums of one expert go. A row of out is, to the bit, what
// `linear` makes of its row of x with the weight of its expert.
/* diecast
use      <diecast/device/linear/linear_options.h>
use      <diecast/device/linear/expert_rows.h>
size     rows                                            // of out
size     cols                                            // of out
size     depth divisible SCALE_BLOCK
size     experts
size     fan_out                                         // rows of out that a row of x has; 1 unless FORM is indexed
arg      x        in  IN     [ceil_div(rows, fan_out), depth]  stride  align 16
arg      packed   in  u8     [experts, ceil_div(GATED ? 2 * cols : cols, 64) * ceil_div(depth, 64), TILE_BYTES]  align 16
arg      factor   in  f32    [experts, GATED ? 2 : 1]    // the global scales; where GATED of gate, of what it multiplies
arg      routing  in  ID     [FORM == indexed ? rows : FORM == contiguous ? experts + 1 : experts]
arg      bias     in  IN     [experts, GATED ? 2 * cols : cols]  optional  // where GATED, all gates' of an expert first
arg      out      out OUT    [rows, cols]
arg      rows
arg      cols
arg      depth
arg      experts
arg      fan_out
sample   rows {0, 1, 3, 9, 40}  cols {8, 44}  depth {32, 96, 320}  experts {4}  fan_out {1}
*/
#pragma once

#include <diecast/device/base/types.h>
#include <diecast/device/linear/expert_rows.h>
#include <diecast/device/linear/linear_result.h>

namespace diecast {

// `all`: of all experts, with 2^7 as the factor.
template <int Activation, bool HasBias, class In, class Out>
DIECAST_DEVICE auto result_of_expert(LinearResult<Activation, HasBias, false, In, Out> all, const f32* factors, i64 expert) {
  constexpr i64 kParts = all.kGated ? 2 : 1;  // gate, and what it multiplies
  if (HasBias) all.bias += expert * kParts * all.cols;
  all.second_factor = factors[expert * kParts + kParts - 1] * all.factor;
  all.factor = factors[expert * kParts] * all.factor;
  return all;
}

}  // namespace diecast
