// How E2M1 codes of bf16 elements are read off products that are cut off (tie_codes.h), though E2M1 rounds to nearest.
//
// A product y, its element times its block's factor, goes to the nearest code, from a midpoint of two (1/4, 3/4, 5/4, 7/4, 5/2,
// 7/2, 5) to the even one. Cut off to the f16 of y * 2^-14, whose grid is as even as E2M1's where it begins, y shows its code in
// bits 9 to 11 once half a step is added. That takes midpoints up, which is right where the code below is odd. But an element
// has eight bits: few products of one factor are near a midpoint, and which they are says the factor's significand. So a way is
// chosen for a factor: to take a little less of it, and to add 2^-10 of a cut-off product to it. That adds nothing to one next to
// 1/4, a unit in the last place at 3/4 and at 5/4 and its doubles, two at 7/4 and its double. Less by 4 * 2^-12, midpoints are cut off
// to one, one, two and two units below: those above odd codes come back, the others stay below, as it should be. Less by 3 * 2^-12,
// all but 1/4 come back: where 5/4 is no midpoint, but just above.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

inline constexpr f32 kTieLess = 1.0f - 0x4p-12f, kTieLittleLess = 1.0f - 0x3p-12f;
inline constexpr f32 kTieLimit = 6.875f * 0x1p-14f;  // products are to be below it: 7 after what is added
inline constexpr u32 kTieAdded = 0x14001400u;        // 2^-10 as f16, twice

struct TieWay {
  f32 factor;  // times 2^-14; NaN where no way is right
  u32 added;   // what of a cut-off product is added to it, as f16, twice
};

DIECAST_DEVICE f32 nearest_bf16(f32 x) { return __uint_as_float((__float_as_uint(x) + 0x8000u) & 0xFFFF0000u); }

// The way for one block's step, its scale times 1 / S, and factor, 1 / step, both times any power of two. Nearly always
// nothing is added: for a product to be a midpoint above an even code an element must be the step or 5/4 of it, within three
// units in its last place. If the step is next to q, of eight bits, the products of q, 5/4 q, 3/2 q and 7/4 q are 1, 5/4, 3/2
// and 7/4 times q * factor before they are rounded, and how far that is past 1 says which become midpoints, or fall below or
// above them: all are above past half a unit in the last place, 5/4 is past 4/5 of that; below -2/3 of it 3/2 is below, and
// 5/4 q is no element, nor is 7/4 q where that is below and 3/2 q is not (of all q and steps). No other element's product is
// within 2^-11 of a midpoint then. If 5/4 of the step alone is next to an element whose product is a midpoint, which no amax
// of eight bits makes, no way is.
DIECAST_DEVICE TieWay tie_way(f32 step, f32 factor) {
  constexpr f32 kHalf = 0x1p-24f;  // half a unit in the last place of what is 1 to below 2
  const auto from_bf16 = [](f32 x) {
    return __float_as_uint(x) * 0x10000u + 0x40000u;
  };  // in units from four below one, at the top
  const f32 more = __fmul_rn(step, 1.25f);
  if (min(from_bf16(step), from_bf16(more)) > 0x80000u) return {factor, 0};
  const f32 past = __fmaf_rn(nearest_bf16(step), factor, -1.0f);  // exact where it is small
  if (fabsf(past) > 0x1p-20f) {
    const bool tie = fabsf(__fmaf_rn(nearest_bf16(more), factor, -1.25f)) <= kHalf;
    return {tie ? __uint_as_float(0x7FFFFFFFu) : factor, 0};
  }
  if (past > kHalf || past < -kHalf / 1.5f) return {factor, 0};
  return {__fmul_rn(factor, past > kHalf / 1.25f ? kTieLittleLess : kTieLess), kTieAdded};
}

}  // namespace diecast
