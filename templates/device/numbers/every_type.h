// to_f32 and from_f32 of every element type. To a float: nearest even; E4M3 and E5M2 saturate. To
// E8M0: up to the next power of two. To an integer: the nearest, even of two, saturated; NaN is 0.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/e5m2.h>
#include <diecast/device/numbers/e8m0.h>

namespace diecast {

DIECAST_DEVICE f32 to_f32(e8m0 x) { return f32_from_e8m0(x); }

template <>
DIECAST_DEVICE e8m0 from_f32<e8m0>(f32 x) {
  return e8m0_from_f32_up(x);
}

// From 2^23 on every f32 is whole, and up to there adding 2^23 rounds to whole numbers.
DIECAST_DEVICE f32 nearest_whole(f32 x) {
  const f32 a = fabsf(x);
  const f32 whole = a < 0x1p23f ? __fsub_rn(__fadd_rn(a, 0x1p23f), 0x1p23f) : a;
  return x < 0 ? -whole : whole;
}

#define DIECAST_WHOLE_TYPE(T, least, limit)                      \
  DIECAST_DEVICE f32 to_f32(T x) { return static_cast<f32>(x); } \
  template <>                                                    \
  DIECAST_DEVICE T from_f32<T>(f32 x) {                          \
    const f32 whole = nearest_whole(x);                          \
    if (whole >= limit) return static_cast<T>(~T(least));        \
    if (whole <= f32(least)) return least;                       \
    return whole == whole ? static_cast<T>(whole) : T(0);        \
  }
DIECAST_WHOLE_TYPE(u8, 0, 0x1p8f)
DIECAST_WHOLE_TYPE(i8, -128, 0x1p7f)
DIECAST_WHOLE_TYPE(u16, 0, 0x1p16f)
DIECAST_WHOLE_TYPE(i32, INT_MIN, 0x1p31f)
DIECAST_WHOLE_TYPE(u32, 0, 0x1p32f)
DIECAST_WHOLE_TYPE(i64, LLONG_MIN, 0x1p63f)
DIECAST_WHOLE_TYPE(u64, 0, 0x1p64f)
#undef DIECAST_WHOLE_TYPE

DIECAST_DEVICE f32 to_f32(f64 x) { return static_cast<f32>(x); }

template <>
DIECAST_DEVICE f64 from_f32<f64>(f32 x) {
  return static_cast<f64>(x);
}

}  // namespace diecast
