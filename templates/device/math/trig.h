// sin and cos, of any float; see math.h. Errors at most: sin 1.58 ulp, cos 1.58.
#pragma once

#include <diecast/device/math/exp.h>

namespace diecast::math {

// An angle less its nearest multiple of pi / 2, at most pi / 4, and that multiple modulo 4.
struct Angle {
  f32 r;
  u32 quadrant;
};

// |x| from 2^16 on: 24 bits of x times 96 bits of 2 / pi, from those on that make multiples of 4
// and need not be looked at.
DIECAST_DEVICE Angle far_angle(f32 x) {
  // 2 / pi in words, a zero before it.
  constexpr u32 kTwoOverPi[] = {0, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu};
  const u32 bits = __float_as_uint(x);
  const u32 mantissa = (bits & 0x7FFFFFu) | 0x800000u;
  const u32 first = (bits >> 23 & 0xFFu) - 127 - 25 + 32;  // bit of the table, from the top
  const u32 word = first / 32, shift = first % 32;
  u32 window[3];
  DIECAST_UNROLL
  for (u32 i = 0; i < 3; ++i)
    window[i] = static_cast<u32>((u64{kTwoOverPi[word + i]} << 32 | kTwoOverPi[word + i + 1]) << shift >> 32);
  const u64 low = u64{mantissa} * window[2];
  const u64 middle = u64{mantissa} * window[1] + (low >> 32);
  const u64 high = u64{mantissa} * window[0] + (middle >> 32);
  // Bits 94 and 95 of the product are the quadrant, those below them its fraction.
  u64 fraction = (high << 32 | (middle & 0xFFFFFFFFu)) << 2;  // in 2^-64; what is lost is below 2^-62
  u32 quadrant = static_cast<u32>(high >> 30) & 3u;
  const bool up = fraction >> 63;  // nearer to the next quadrant
  if (up) fraction = ~fraction + 1, ++quadrant;
  const f32 r = static_cast<f32>(static_cast<double>(fraction) * (1.5707963267948966 * 0x1p-64));
  const bool negative = bits >> 31;
  return {up != negative ? -r : r, negative ? 0u - quadrant : quadrant};
}

DIECAST_DEVICE Angle angle_of(f32 x) {
  if (!(fabsf(x) < 65536.0f)) return far_angle(x);
  const Nearest k = nearest(x, 0x1.45f306p-1f);  // 2 / pi
  f32 r = __fmaf_rn(k.number, -0x1.921fb6p+0f, x);
  r = __fmaf_rn(k.number, 0x1.777a5cp-25f, r);
  return {__fmaf_rn(k.number, 0x1.ee59dap-50f, r), static_cast<u32>(k.integer)};
}

// The sine of an angle and of as many quadrants more.
DIECAST_DEVICE f32 sine_of(const Angle& at, u32 more) {
  const u32 quadrant = at.quadrant + more;
  const f32 s = __fmul_rn(at.r, at.r);
  f32 y;
  if (quadrant % 2 == 0) {
    f32 p = -0x1.9954a8p-13f;
    p = __fmaf_rn(p, s, 0x1.11077ap-7f);
    p = __fmaf_rn(p, s, -0x1.555546p-3f);
    y = __fmaf_rn(__fmul_rn(at.r, s), p, at.r);
  } else {
    f32 p = 0x1.99e0ecp-16f;
    p = __fmaf_rn(p, s, -0x1.6c0c1ap-10f);
    p = __fmaf_rn(p, s, 0x1.55554ap-5f);
    y = __fmaf_rn(__fmul_rn(s, s), p, __fmaf_rn(s, -0.5f, 1.0f));
  }
  return quadrant % 4 < 2 ? y : -y;
}

DIECAST_DEVICE f32 sin(f32 x) {
  if (!(fabsf(x) < __uint_as_float(0x7F800000u))) return __uint_as_float(0x7FFFFFFFu);
  if (x == 0.0f) return x;
  return sine_of(angle_of(x), 0);
}

DIECAST_DEVICE f32 cos(f32 x) {
  if (!(fabsf(x) < __uint_as_float(0x7F800000u))) return __uint_as_float(0x7FFFFFFFu);
  return sine_of(angle_of(x), 1);
}

}  // namespace diecast::math
