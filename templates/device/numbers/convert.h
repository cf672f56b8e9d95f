// Exact conversions between f32 and the small formats, round to nearest even. The plain versions are
// integer and float arithmetic that every target runs; where a target has an instruction it stands
// beside the plain one and gives the same bits.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

#define DIECAST_HAS_BF16_CVT (DIECAST_CC >= 80)
#define DIECAST_HAS_E4M3_CVT (DIECAST_CC >= 89)
#define DIECAST_HAS_E2M1_CVT (DIECAST_CC >= 100)  // targets from 9.0 up are `a` or `f`: it is there

namespace diecast {

// ---- bf16 and f16 ----

DIECAST_DEVICE f32 to_f32(f32 x) { return x; }

DIECAST_DEVICE f32 to_f32(bf16 x) { return __uint_as_float(u32{x.bits} << 16); }

DIECAST_DEVICE f32 f32_from_f16_plain(f16 x) {
  const u32 magnitude = x.bits & 0x7FFFu;
  const u32 sign = u32{x.bits & 0x8000u} << 16;
  if (magnitude >= 0x7C00u) return __uint_as_float(sign | 0x7F800000u | (magnitude & 0x3FFu) << 13);
  if (magnitude >= 0x0400u) return __uint_as_float(sign | (magnitude + 0x1C000u) << 13);
  const f32 value = static_cast<f32>(magnitude) * 0x1p-24f;  // subnormal: exact
  return __uint_as_float(sign | __float_as_uint(value));
}

DIECAST_DEVICE f32 to_f32(f16 x) {
#if DIECAST_HOST
  return f32_from_f16_plain(x);
#else
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
#endif
}

// NaN becomes the quiet 0x7FFF, as the hardware gives it.
DIECAST_DEVICE bf16 bf16_from_f32_plain(f32 x) {
  const u32 u = __float_as_uint(x);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return {0x7FFF};
  return {static_cast<u16>((u + 0x7FFFu + (u >> 16 & 1u)) >> 16)};
}

DIECAST_DEVICE f16 f16_from_f32_plain(f32 x) {
  const u32 u = __float_as_uint(x) & 0x7FFFFFFFu;
  const u16 sign = static_cast<u16>(__float_as_uint(x) >> 16 & 0x8000u);
  if (u > 0x7F800000u) return {0x7FFF};
  if (u >= 0x47800000u) return {static_cast<u16>(sign | 0x7C00u)};  // 2^16 and beyond
  if (u < 0x38800000u) {  // below 2^-14: adding 0.5 leaves the subnormal's bits in the low end
    const u32 sum = __float_as_uint(__fadd_rn(__uint_as_float(u), 0.5f));
    return {static_cast<u16>(sign | (sum - 0x3F000000u))};
  }
  return {static_cast<u16>(sign | (u - 0x38000000u + 0xFFFu + (u >> 13 & 1u)) >> 13)};
}

template <class T>
constexpr bool dependent_false = false;

template <class T>
DIECAST_DEVICE T from_f32(f32) {
  static_assert(
      dependent_false<T>,
      "from_f32 makes bf16, f16, f32 and e4m3 here, every element type with #include <diecast/device/numbers/every_type.h>");
  return T{};
}

template <>
DIECAST_DEVICE f32 from_f32<f32>(f32 x) {
#if DIECAST_HOST
  // A GPU's arithmetic gives every NaN these bits; this processor's keeps or signs them.
  return x == x ? x : __uint_as_float(0x7FFFFFFFu);
#else
  return x;
#endif
}

template <>
DIECAST_DEVICE bf16 from_f32<bf16>(f32 x) {
#if DIECAST_HAS_BF16_CVT
  bf16 value;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
#else
  return bf16_from_f32_plain(x);
#endif
}

template <>
DIECAST_DEVICE f16 from_f32<f16>(f32 x) {
#if DIECAST_HOST
  return f16_from_f32_plain(x);
#else
  f16 value;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
#endif
}

// An element's bits in the low end of a word, and back.
template <class T>
DIECAST_DEVICE u32 to_bits(T x) {
  if constexpr (bits<T>() == 32) {
    return __float_as_uint(x);
  } else {
    return x.bits;
  }
}

template <class T>
DIECAST_DEVICE T from_bits(u32 word) {
  if constexpr (bits<T>() == 32) {
    return __uint_as_float(word);
  } else {
    return T{static_cast<u16>(word)};
  }
}

// ---- E4M3: saturates to 448; NaN of either sign is 0x7F ----

// With p the power of two at or below max(|x|, 2^-6), the step of the grid at |x| is p / 8, the last
// place of a float near 2^20 p: one addition rounds, nearest even, and leaves k = |x| / step in the
// low bits and log2(p) + 147 in the exponent. The byte is k + 8 (log2(p) + 6).
DIECAST_DEVICE e4m3 e4m3_from_f32_plain(f32 x) {
  const f32 a = fminf(fabsf(x), 448.0f);
  const u32 power = max(__float_as_uint(a) & 0x7F800000u, 0x3C800000u);
  const u32 sum = __float_as_uint(__fadd_rn(a, __uint_as_float(power + (20u << 23))));
  if (x != x) return {0x7F};
  return {static_cast<u8>((sum + (sum >> 20) - 8 * 141) | (__float_as_uint(x) >> 24 & 0x80u))};
}

DIECAST_DEVICE e4m3 e4m3_from_f32(f32 x) {
#if DIECAST_HAS_E4M3_CVT
  u16 pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return {static_cast<u8>(pair)};
#else
  return e4m3_from_f32_plain(x);
#endif
}

// Two bytes, the first below.
DIECAST_DEVICE u32 e4m3x2_from_f32(f32 low, f32 high) {
#if DIECAST_HAS_E4M3_CVT
  u16 pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return e4m3_from_f32_plain(low).bits | u32{e4m3_from_f32_plain(high).bits} << 8;
#endif
}

// Of a byte that is not NaN, as block scales are: its seven bits, moved to f32's place, are the
// value times 2^-120, subnormals too. Negative ones are made by a negative amax that is given.
DIECAST_DEVICE f32 f32_from_block_scale(e4m3 x) {
#if DIECAST_HAS_E4M3_CVT
  f32 value;
  asm("{\n"
      " .reg .b16 low, high;\n"
      " .reg .b32 pair;\n"
      " cvt.rn.f16x2.e4m3x2 pair, %1;\n"
      " mov.b32 {low, high}, pair;\n"
      " cvt.f32.f16 %0, low;\n"
      "}"
      : "=f"(value)
      : "h"(u16{x.bits}));
  return value;
#else
  return __uint_as_float((x.bits & 0x80u) << 24 | (x.bits & 0x7Fu) << 20) * 0x1p120f;
#endif
}

DIECAST_DEVICE f32 f32_from_e4m3(e4m3 x) {
  const u32 magnitude = x.bits & 0x7Fu;
  const u32 sign = u32{x.bits & 0x80u} << 24;
  if (magnitude == 0x7Fu) return __uint_as_float(0x7FFFFFFFu);
  return __uint_as_float(sign | magnitude << 20) * 0x1p120f;
}
DIECAST_DEVICE f32 to_f32(e4m3 x) { return f32_from_e4m3(x); }

template <>
DIECAST_DEVICE e4m3 from_f32<e4m3>(f32 x) {
  return e4m3_from_f32(x);
}

// ---- E2M1: saturates to 6; NaN of either sign is code 7 ----

DIECAST_DEVICE u32 e2m1_from_f32_plain(f32 x) {
  const f32 a = fabsf(x);
  if (a != a) return 7;
  const u32 code = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (a > 5.0f);
  return code | (__float_as_uint(x) >> 28 & 8u);
}

// In few instructions a word whose low three bits are the code of |y|, of any y; NaN gives 7.
// With p the power of two at or below max(|y|, 1), the grid's step at |y| is p/2, which is also
// the last place of a float near 2^22 p: one addition rounds, nearest even, and leaves
// k = |y| / step in the low bits and p in the exponent. The code is k + 2 log2(p); the constant's
// 3 = 6 steps makes (exponent field * 2 + k) come out with no offset modulo 8.
DIECAST_DEVICE u32 e2m1_magnitude(f32 y) {
  const f32 a = fminf(fabsf(y), 6.0f);
  const u32 power = __float_as_uint(fmaxf(a, 1.0f)) & 0x7F800000u;
#if DIECAST_HOST  // where a fused multiplication would be a call
  const u32 sum = __float_as_uint(a + __uint_as_float(power) * 4194307.0f);
#else
  const u32 sum = __float_as_uint(__fmaf_rn(__uint_as_float(power), 4194307.0f, a));
#endif
  return sum + (sum >> 22);
}

// Two codes in a byte, the first in the low nibble.
DIECAST_DEVICE u32 e2m1x2_from_f32(f32 low, f32 high) {
#if DIECAST_HAS_E2M1_CVT
  u32 pair;
  asm("{\n .reg .b8 byte;\n cvt.rn.satfinite.e2m1x2.f32 byte, %2, %1;\n cvt.u32.u8 %0, byte;\n}"
      : "=r"(pair)
      : "f"(low), "f"(high));
  return pair;
#else
  return e2m1_from_f32_plain(low) | e2m1_from_f32_plain(high) << 4;
#endif
}

// The three magnitude bits, moved to f32's place, are the value times 2^-126. The host looks it up:
// its processors are slow on the subnormal among them.
DIECAST_DEVICE f32 f32_from_e2m1(u32 code) {
#if DIECAST_HOST
  static constexpr f32 kValues[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                      -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
  return kValues[code & 15u];
#else
  return __uint_as_float((code & 7u) << 22 | (code & 8u) << 28) * 0x1p126f;
#endif
}

}  // namespace diecast
