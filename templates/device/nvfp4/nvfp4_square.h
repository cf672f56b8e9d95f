// The largest magnitude of 16x16 blocks of NVFP4 whose lines lanes have two at once (ordinary_codes.h).
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/blocks/square16.h>
#include <diecast/device/nvfp4/ordinary_codes.h>
#include <diecast/device/threads/reduce.h>

namespace diecast {

// Of the 16x16 block that a lane's `Count` blocks are lines of, as square16.h has them: own(i) gives blocks i and
// i + 1. Ordinary: no block of the warp's has NaN.
template <class Recipe, int RowLanes, int Count, class Own>
DIECAST_DEVICE Square ordinary_square(const Own& own) {
  const auto larger = [](f32 a, f32 b) { return max_or_nan(a, b); };
  constexpr int kSteps = RowLanes == 8 ? 2 : 3, kFarthest = RowLanes == 0 ? 4 : 16;
  f32 amax = 0.0f;
  DIECAST_UNROLL
  for (int i = 0; i < Count; i += 2) {
    f32 of_two[2];
    own(i).find_amax(of_two);
    amax = larger(amax, larger(of_two[0], of_two[1]));
  }
  amax = of_square<kSteps>(amax, kFarthest, larger);
  if (!__any_sync(0xFFFFFFFFu, amax != amax)) return {amax, true};
  amax = 0.0f;
  DIECAST_NO_UNROLL
  for (int i = 0; i < Count; i += 2) {
    const auto two = own(i);
    amax = larger(amax, larger(Recipe::amax(two.block(0)), Recipe::amax(two.block(1))));
  }
  return {of_square<kSteps>(amax, kFarthest, larger), false};
}

}  // namespace diecast
