// floor, ceil, trunc, rint (to the nearest, of two the even one) and round (of two the one further
// from zero), to whole numbers; see math.h. Exact, as CUDA's own; the sign of a zero is x's.
#pragma once

#include <diecast/device/math/sign.h>

namespace diecast::math {

#if DIECAST_HOST

// From 2^23 on every f32 is whole, and NaN stays.
DIECAST_DEVICE f32 trunc(f32 x) { return fabsf(x) < 0x1p23f ? with_sign_of(static_cast<f32>(static_cast<i32>(fabsf(x))), x) : x; }
DIECAST_DEVICE f32 floor(f32 x) {
  const f32 whole = trunc(x);
  return whole > x ? whole - 1.0f : whole;
}
DIECAST_DEVICE f32 ceil(f32 x) {
  const f32 whole = trunc(x);
  return whole < x ? whole + 1.0f : whole;
}
DIECAST_DEVICE f32 rint(f32 x) {
  const f32 a = fabsf(x);
  return a < 0x1p23f ? with_sign_of(__fsub_rn(__fadd_rn(a, 0x1p23f), 0x1p23f), x) : x;
}
DIECAST_DEVICE f32 round(f32 x) {
  const f32 whole = trunc(x);
  return fabsf(x - whole) >= 0.5f ? whole + with_sign_of(1.0f, x) : whole;
}

#else

DIECAST_DEVICE f32 trunc(f32 x) { return ::truncf(x); }
DIECAST_DEVICE f32 floor(f32 x) { return ::floorf(x); }
DIECAST_DEVICE f32 ceil(f32 x) { return ::ceilf(x); }
DIECAST_DEVICE f32 rint(f32 x) { return ::rintf(x); }
DIECAST_DEVICE f32 round(f32 x) { return ::roundf(x); }

#endif

}  // namespace diecast::math
