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

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

inline constexpr f32 kTieLess = 1.0f - 0x4p-12f, kTieLittleLess = 1.0f - 0x3p-12f;
inline constexpr f32 kTieLimit = 6.875f * 0x1p-14f;  // products are to be below it: 7 after what is added
inline constexpr u32 kTieAdded = 0x14001400u;         // 2^-10 as f16, twice

struct TieWay {
  f32 factor;  // times 2^-14; NaN where no way is right
  u32 added;   // what of a cut-off product is added to it, as f16, twice
};

DIECAST_DEVICE f32 nearest_bf16(f32 x) { return __uint_as_float((__float_as_uint(x) + 0x8000u) & 0xFFFF0000u); }

// Which of three ways, the factor as it is, less and little less, a bit each, are wrong for elements next to a midpoint of significand
// 1 + nth / 4: the nearest alone may be. A factor is 1 / step; both may be times a power of two.
DIECAST_DEVICE u32 wrong_tie_ways(u32 nth, f32 step, f32 factor) {
  const f32 middle = 1.0f + static_cast<f32>(nth) * 0.25f;
  const f32 up_from = middle - static_cast<f32>(0x2210u >> 4 * nth & 15u) * 0x1p-10f;  // where something is added
  const f32 element = nearest_bf16(__fmul_rn(middle, step)), y = __fmul_rn(element, factor);
  const bool up = y > middle || (nth >= 2 && y == middle);  // above an odd code
  const f32 less = __fmul_rn(element, __fmul_rn(factor, kTieLess)), little = __fmul_rn(element, __fmul_rn(factor, kTieLittleLess));
  return (up != (y >= middle) ? 1u : 0u) | (up != (less >= up_from) ? 2u : 0u) | (up != (little >= up_from) ? 4u : 0u);
}

// The first that is not wrong, of a factor times 2^-14.
DIECAST_DEVICE TieWay right_tie_way(u32 wrong, f32 factor) {
  if ((wrong & 1u) == 0) return {factor, 0};
  if (wrong == 7) return {__uint_as_float(0x7FFFFFFFu), 0};
  return {__fmul_rn(factor, (wrong & 2u) == 0 ? kTieLess : kTieLittleLess), kTieAdded};
}

// Of one block's step, its scale times 1 / S, and factor, without a table.
DIECAST_DEVICE_CALL TieWay seldom_tie_way(f32 step, f32 factor) {
  u32 wrong = 0;
DIECAST_NO_UNROLL
  for (u32 nth = 0; nth < 4; ++nth) wrong |= wrong_tie_ways(nth, step, factor);
  return right_tie_way(wrong, factor);
}

// The same in few instructions, where nearly always nothing is added. For a product to be a midpoint above an even code an element must be
// the step or 5/4 of it, within three units in its last place. If the step is next to q, of eight bits, the products of q, 5/4 q, 3/2 q
// and 7/4 q are 1, 5/4, 3/2 and 7/4 times q * factor before they are rounded, and how far that is past 1 says which become midpoints, or
// fall below or above them: all are above past half a unit in the last place, 5/4 is past 4/5 of that; below -2/3 of it 3/2 is below,
// and 5/4 is no element, nor is 7/4 where that is below and 3/2 is not (of all q and steps). No other element's product is within
// 2^-11 of a midpoint then.
DIECAST_DEVICE TieWay tie_way(f32 step, f32 factor) {
  const auto from_bf16 = [](f32 x) { return __float_as_uint(x) * 0x10000u + 0x40000u; };  // in units from four below one, at the top
  if (min(from_bf16(step), from_bf16(__fmul_rn(step, 1.25f))) > 0x80000u) return {factor, 0};
  const f32 past = __fmaf_rn(nearest_bf16(step), factor, -1.0f);  // exact where it is small
  if (fabsf(past) > 0x1p-20f) {
    if (step != 0.0f) return seldom_tie_way(step, factor);
    return {factor, 0};  // the largest float is next to a power of two: products are cut off below midpoints
  }
  constexpr f32 kHalf = 0x1p-24f;  // half a unit in the last place of what is 1 to below 2
  if (past > kHalf || past < -kHalf / 1.5f) return {factor, 0};
  return {__fmul_rn(factor, past > kHalf / 1.25f ? kTieLittleLess : kTieLess), kTieAdded};
}

}  // namespace diecast
