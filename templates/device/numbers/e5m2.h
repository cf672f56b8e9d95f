// E5M2 from and to f32, exact: nearest even, saturates to 57344; NaN of either sign is 0x7F. The
// instruction, where a target has it, gives the same bits.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>

#define DIECAST_HAS_E5M2_CVT (DIECAST_CC >= 89)

namespace diecast {

DIECAST_DEVICE e5m2 e5m2_from_f32_plain(f32 x) {
  const u32 u = __float_as_uint(x) & 0x7FFFFFFFu;
  const u32 sign = __float_as_uint(x) >> 24 & 0x80u;
  if (u > 0x7F800000u) return {0x7F};
  u32 byte;
  if (u >= 0x47600000u) {  // 57344
    byte = 0x7B;
  } else if (u < 0x38800000u) {  // below 2^-14: adding 2^7 rounds to multiples of 2^-16
    byte = __float_as_uint(__fadd_rn(__uint_as_float(u), 128.0f)) - 0x43000000u;
  } else {
    byte = ((u + 0xFFFFFu + (u >> 21 & 1u)) >> 21) - 448u;
  }
  return {static_cast<u8>(sign | byte)};
}

DIECAST_DEVICE e5m2 e5m2_from_f32(f32 x) {
#if DIECAST_HAS_E5M2_CVT
  u16 pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return {static_cast<u8>(pair)};
#else
  return e5m2_from_f32_plain(x);
#endif
}

// Two bytes, the first below.
DIECAST_DEVICE u32 e5m2x2_from_f32(f32 low, f32 high) {
#if DIECAST_HAS_E5M2_CVT
  u16 pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return e5m2_from_f32_plain(low).bits | u32{e5m2_from_f32_plain(high).bits} << 8;
#endif
}

// E5M2 is the upper byte of an f16.
DIECAST_DEVICE f32 f32_from_e5m2(e5m2 x) {
  if ((x.bits & 0x7Fu) > 0x7Cu) return __uint_as_float(0x7FFFFFFFu);
  return to_f32(f16{static_cast<u16>(x.bits << 8)});
}
DIECAST_DEVICE f32 to_f32(e5m2 x) { return f32_from_e5m2(x); }

template <>
DIECAST_DEVICE e5m2 from_f32<e5m2>(f32 x) {
  return e5m2_from_f32(x);
}

}  // namespace diecast
