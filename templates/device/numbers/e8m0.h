// E8M0, the scale of the MX formats: 2^(byte - 127), 255 is NaN. From f32 it rounds up to the next
// power of two and ignores the sign; the instruction, where a target has it, gives the same bits.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

#define DIECAST_HAS_E8M0_CVT (DIECAST_CC >= 100)  // targets from 9.0 up are `a` or `f`: it is there

namespace diecast {

DIECAST_DEVICE e8m0 e8m0_from_f32_up_plain(f32 x) {
  const u32 u = __float_as_uint(x) & 0x7FFFFFFFu;
  if (u > 0x7F800000u) return {255};
  // Numbers below 2^-126 lie between the two least powers, 2^-127 and 2^-126.
  const u32 up = (u + (u < 0x00800000u ? 0x003FFFFFu : 0x007FFFFFu)) >> 23;
  return {static_cast<u8>(up < 254u ? up : 254u)};
}

DIECAST_DEVICE e8m0 e8m0_from_f32_up(f32 x) {
#if DIECAST_HAS_E8M0_CVT
  u16 pair;
  asm("cvt.rp.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(fabsf(x)));
  return {static_cast<u8>(pair)};
#else
  return e8m0_from_f32_up_plain(x);
#endif
}

DIECAST_DEVICE f32 f32_from_e8m0(e8m0 x) {
  if (x.bits == 255) return __uint_as_float(0x7FFFFFFFu);
  return __uint_as_float(x.bits == 0 ? 0x00400000u : u32{x.bits} << 23);
}

// The exact 2^(127 - byte) that data is multiplied by; NaN for 255.
DIECAST_DEVICE f32 reciprocal_of_e8m0(e8m0 x) {
  if (x.bits == 255) return __uint_as_float(0x7FFFFFFFu);
  return __uint_as_float(x.bits == 254 ? 0x00400000u : (254u - x.bits) << 23);
}

}  // namespace diecast
