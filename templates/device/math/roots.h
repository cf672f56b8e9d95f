// sqrt and rsqrt; see math.h. Errors at most: sqrt 0.5 ulp, rsqrt 0.51.
#pragma once

#include <diecast/device/numbers/convert.h>

namespace diecast::math {

DIECAST_DEVICE f32 sqrt(f32 x) { return __fsqrt_rn(x); }

// A first guess from the bits, and twice y * (1 + e / 2 + 3 e^2 / 8) with the rest e = 1 - x * y^2.
DIECAST_DEVICE f32 rsqrt(f32 x) {
  if (!(x > 0.0f && x < __uint_as_float(0x7F800000u))) {
    const f32 infinity = __uint_as_float(0x7F800000u | (__float_as_uint(x) & 0x80000000u));
    return x == 0.0f ? infinity : x > 0.0f ? 0.0f : __uint_as_float(0x7FFFFFFFu);
  }
  const bool subnormal = x < 0x1p-126f;
  if (subnormal) x = __fmul_rn(x, 0x1p24f);
  f32 y = __uint_as_float(0x5F375A86u - (__float_as_uint(x) >> 1));
  f32 e = __fmaf_rn(-__fmul_rn(x, y), y, 1.0f);
  y = __fmaf_rn(__fmul_rn(y, e), __fmaf_rn(e, 0.375f, 0.5f), y);
  const f32 root = __fmul_rn(x, y), root_low = __fmaf_rn(x, y, -root);
  e = __fmaf_rn(-root_low, y, __fmaf_rn(-root, y, 1.0f));
  y = __fmaf_rn(__fmul_rn(y, e), __fmaf_rn(e, 0.375f, 0.5f), y);
  return subnormal ? __fmul_rn(y, 0x1p12f) : y;
}

}  // namespace diecast::math
