// What lanes find together of a 16x16 block of NVFP4: its largest magnitude and, of four over six, which of
// both scales it gets.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/four_over_six.h>
#include <diecast/device/reduce.h>
#include <diecast/device/simt.h>
#include <diecast/device/square16.h>
#include <diecast/device/types.h>

namespace diecast {

// Of the 16x16 block that a lane's `Count` blocks are lines of, as square16.h has them: own(i, two) gives blocks i
// and i + 1. Ordinary: no block of the warp's has NaN. FourOver (off, mae, mse): the number of a template's word.
template <class Recipe, class Block, int RowLanes, int Count, bool Ordinary, int FourOver, int Bound, class Own, class Global>
DIECAST_DEVICE Square nvfp4_square(const Own& own, const Global& global) {
  const auto larger = [](f32 a, f32 b) { return max_or_nan(a, b); };
  f32 amax = 0.0f;
  if constexpr (Ordinary) {
DIECAST_UNROLL
    for (int i = 0; i < Count; i += 2) {
      Block two[2];
      own(i, two);
      amax = larger(amax, larger(amax_with_nan(two[0]), amax_with_nan(two[1])));
    }
    amax = of_square<RowLanes>(amax, larger);
    if (!__any_sync(0xFFFFFFFFu, amax != amax)) return {amax, false, true};
    amax = 0.0f;
  }
DIECAST_NO_UNROLL
  for (int i = 0; i < Count; i += 2) {
    Block two[2];
    own(i, two);
    amax = larger(amax, larger(Recipe::amax(two[0]), Recipe::amax(two[1])));
  }
  amax = of_square<RowLanes>(amax, larger);
  if constexpr (FourOver == 0) {
    return {amax, false, false};
  } else {
    f32 error_six = 0.0f, error_four = 0.0f;
DIECAST_NO_UNROLL
    for (int four = 0; four < 2; ++four) {
      const f32 wanted = wanted_scale(amax, four == 1, global);
      f32 of_lines[Count];
DIECAST_UNROLL
      for (int i = 0; i < Count; i += 2) {
        Block two[2];
        own(i, two);
        of_lines[i] = four_over_six_once<FourOver == 2, Bound>(two[0], wanted, global).error;
        of_lines[i + 1] = four_over_six_once<FourOver == 2, Bound>(two[1], wanted, global).error;
      }
      error_six = error_four, error_four = sum_of_square<RowLanes>(of_lines);
    }
    return {amax, error_four < error_six, false};
  }
}

}  // namespace diecast
