// Sums of a linear layer that lie in shared memory, as rows of out: eight elements a thread.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/linear/linear_result.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/numbers/eight.h>

#if DIECAST_CC >= 90

namespace diecast {

// Eight sums of a row of out; of all thread blocks of the cluster, added in order.
struct EightSums {
  f32 values[8];
  DIECAST_DEVICE void load(u32 from) {
    DIECAST_UNROLL
    for (u32 i = 0; i < 8; i += 4) {
      const Vector<16> four = load_shared<16>(from + 4 * i);
      DIECAST_UNROLL
      for (u32 j = 0; j < 4; ++j) values[i + j] = __uint_as_float(four.words[j]);
    }
  }
  // `from`: the place in each thread block.
  template <int Parts>
  DIECAST_DEVICE void load_parts(u32 from) {
    DIECAST_UNROLL
    for (u32 part = 0; part < u32{Parts}; ++part) {
      DIECAST_UNROLL
      for (u32 i = 0; i < 8; i += 4) {
        const Vector<16> four = load_shared_of(part, from + 4 * i);
        DIECAST_UNROLL
        for (u32 j = 0; j < 4; ++j) {
          const f32 value = __uint_as_float(four.words[j]);
          values[i + j] = part == 0 ? value : __fadd_rn(values[i + j], value);
        }
      }
    }
  }
};

// Eight elements of out from the sums of as many rows of weights, or where gated of 16.
template <int Activation, bool HasBias, bool HasResidual, class In, class Out, bool RowFactors = false>
struct LinearRows {
  using Result = LinearResult<Activation, HasBias, HasResidual, In, Out, RowFactors>;
  Result result;
  bool whole;  // rows of out and residual are of whole eights, each from a multiple of 16 bytes on

  DIECAST_DEVICE void store(const EightSums& first, const EightSums& second, i64 row, i64 col) const {
    if (row >= result.rows || col >= result.cols) return;
    const i64 at = row * result.cols + col, left = result.cols - col;
    Eight<Out> before, y;
    if constexpr (HasResidual)
      whole ? before.template load<true>(result.residual + at, 8) : before.template load<false>(result.residual + at, left);
    DIECAST_UNROLL
    for (int i = 0; i < 8; i += 2) {
      y.set_two(i, element(first.values[i], second.values[i], min(col + i, result.cols - 1), before.element(i)),
                element(first.values[i + 1], second.values[i + 1], min(col + i + 1, result.cols - 1), before.element(i + 1)));
    }
    whole ? y.template store<true>(result.out + at, 8) : y.template store<false>(result.out + at, left);
  }
  DIECAST_DEVICE f32 element(f32 first, f32 second, i64 col, f32 before) const {
    const f32 x = result.element(first, second, col);
    return HasResidual ? __fadd_rn(x, before) : x;
  }
};

}  // namespace diecast

#endif
