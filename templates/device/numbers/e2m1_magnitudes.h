// E2M1 codes of products, as e2m1_codes.h has them, with the magnitudes they stand for: what four over six asks for.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/e2m1_codes.h>

#if !DIECAST_NO_FOUR_OVER_SIX

namespace diecast {

#if !DIECAST_HOST && !DIECAST_HAS_E2M1_CVT
// Two codes in the top byte of a word, the first in its low nibble, of products whose magnitudes on the grid are asked
// for too; NaN as 6. With p the power of two at or below max(|y|, 1), the grid's step at |y| is p / 2: the last place of
// a float near 2^22 p, and adding that rounds, nearest even. As an f16 times 2^-14 a value of the grid has its code in
// bits 9 to 11. The last product takes the nibbles at 12 and 28, the lower one to 24 too.
DIECAST_DEVICE u32 codes_and_magnitudes(f32 y0, f32 y1, f32& v0, f32& v1) {
  u32 top;
  asm("{\n"
      " .reg .f32 a0, a1, p0, p1;\n"
      " .reg .b32 pair, sign0, sign1, signs;\n"
      " abs.f32 a0, %3;\n"
      " abs.f32 a1, %4;\n"
      " min.f32 a0, a0, 0f40C00000;\n"  // 6
      " min.f32 a1, a1, 0f40C00000;\n"
      " max.f32 p0, a0, 0f3F800000;\n"
      " max.f32 p1, a1, 0f3F800000;\n"
      " and.b32 p0, p0, 0x7F800000;\n"
      " and.b32 p1, p1, 0x7F800000;\n"
      " fma.rn.f32 a0, p0, 0f4A800000, a0;\n"
      " fma.rn.f32 a1, p1, 0f4A800000, a1;\n"
      " fma.rn.f32 %1, p0, 0fCA800000, a0;\n"
      " fma.rn.f32 %2, p1, 0fCA800000, a1;\n"
      " cvt.rn.f16x2.f32 pair, %2, %1;\n"
      " mul.rn.f16x2 pair, pair, %5;\n"
      " mov.b32 sign0, %3;\n"
      " mov.b32 sign1, %4;\n"
      " prmt.b32 signs, sign0, sign1, 0x7632;\n"
      " and.b32 signs, signs, 0x80008000;\n"
      " mad.lo.u32 pair, pair, 8, signs;\n"
      " mul.lo.u32 %0, pair, 4097;\n"
      "}"
      : "=r"(top), "=&f"(v0), "=&f"(v1)
      : "f"(y0), "f"(y1), "r"(0x04000400u));
  return top;
}
#endif

// The codes of two products in a byte, and the magnitudes they stand for.
DIECAST_DEVICE u32 e2m1_pair_and_magnitudes(f32 y0, f32 y1, f32 (&v)[2]) {
#if DIECAST_HOST || DIECAST_HAS_E2M1_CVT
#if DIECAST_HOST
  const u32 codes = e2m1_code(y0) | e2m1_code(y1) << 4;
#else
  const u32 codes = e2m1x2_from_f32(y0, y1);
#endif
  v[0] = f32_from_e2m1(codes & 7u), v[1] = f32_from_e2m1(codes >> 4 & 7u);
  return codes;
#else
  return codes_and_magnitudes(y0, y1, v[0], v[1]) >> 24;
#endif
}

// The codes of eight products, and the magnitudes they stand for.
DIECAST_DEVICE u32 e2m1_codes_and_magnitudes(const f32 (&y)[8], f32 (&v)[8]) {
#if DIECAST_HOST || DIECAST_HAS_E2M1_CVT
  const u32 codes = e2m1_codes(y);
  DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) v[i] = f32_from_e2m1(codes >> (4 * i) & 7u);
  return codes;
#else
  const u32 low = __byte_perm(codes_and_magnitudes(y[0], y[1], v[0], v[1]), codes_and_magnitudes(y[2], y[3], v[2], v[3]), 0x73);
  const u32 high = __byte_perm(codes_and_magnitudes(y[4], y[5], v[4], v[5]), codes_and_magnitudes(y[6], y[7], v[6], v[7]), 0x73);
  return __byte_perm(low, high, 0x5410);
#endif
}

}  // namespace diecast

#endif
