// E2M1 codes of several products at once, two a byte, the first in the low nibble: nearest even,
// saturating at 6, 7 for NaN. Products, because a NaN that comes of arithmetic has no sign on a GPU.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// The top bytes of four words, the first's lowest.
DIECAST_DEVICE u32 top_bytes(u32 a, u32 b, u32 c, u32 d) {
  return __byte_perm(__byte_perm(a, b, 0x73), __byte_perm(c, d, 0x73), 0x5410);
}

// The signs of eight products in the top bits of nibbles; else zeros.
DIECAST_DEVICE u32 signs_of_eight(const f32 (&y)[8]) {
  const auto tops = [&](int i) {
    return top_bytes(__float_as_uint(y[i]), __float_as_uint(y[i + 2]), __float_as_uint(y[i + 4]),
                     __float_as_uint(y[i + 6]));
  };
  return (tops(1) & 0x80808080u) | (tops(0) >> 4 & 0x08080808u);
}

#if DIECAST_HOST

DIECAST_DEVICE u32 e2m1_code(f32 y) {
  return (e2m1_magnitude(y) & 7u) | (y == y ? __float_as_uint(y) >> 28 & 8u : 0u);
}

#elif !DIECAST_HAS_E2M1_CVT

// Codes of eight products as one piece of assembly, %0: the compiler's optimizer takes long for so many operations, and
// gives the same instructions. First four codes, each less 8, in 16 bits; what is above says nothing. With a the lesser
// of |y| and 6 (NaN gives way to it) and P the part of a that is 2 or 4, or next to 0 where a is below 2, the last place
// of K = (2^22 - 1) P + 3 * 2^21 - 4 is the step of E2M1's grid at a, and K ends in P's code less 8 but for P itself, an
// even number of steps: the sum K + a rounds a, nearest even. A code less 8 borrows from the next: what is added to all
// gives it back. Signs are the tops of products.
#define DIECAST_E2M1_SUM(sum, y)                                                    \
  " abs.f32 " sum ", " y ";\n min.f32 " sum ", " sum ", 0f40C00000;\n" /* 6 */      \
  " and.b32 p, " sum ", 0x40800000;\n fma.rn.f32 p, p, 0f4A7FFFFC, 0f4ABFFFF8;\n"   \
  " add.rn.f32 " sum ", p, " sum ";\n"
#define DIECAST_E2M1_FOUR(four, y0, y1, y2, y3)                                               \
  DIECAST_E2M1_SUM(four, y0) DIECAST_E2M1_SUM("b", y1) DIECAST_E2M1_SUM("c", y2)              \
  DIECAST_E2M1_SUM("d", y3) " mad.lo.u32 c, d, 16, c;\n mad.lo.u32 b, c, 16, b;\n"           \
  " mad.lo.u32 " four ", b, 16, " four ";\n"
#define DIECAST_E2M1_TOPS(tops, y0, y1, y2, y3)                                               \
  " prmt.b32 b, " y0 ", " y1 ", 0x73;\n prmt.b32 c, " y2 ", " y3 ", 0x73;\n"                  \
  " prmt.b32 " tops ", b, c, 0x5410;\n"
#define DIECAST_E2M1_EIGHT(y0, y1, y2, y3, y4, y5, y6, y7)                                    \
  " .reg .b32 a, b, c, d, e, p;\n" DIECAST_E2M1_FOUR("a", y0, y1, y2, y3)                     \
  DIECAST_E2M1_FOUR("e", y4, y5, y6, y7) " prmt.b32 a, a, e, 0x5410;\n"                       \
  " add.u32 a, a, 0x88878888;\n" DIECAST_E2M1_TOPS("d", y1, y3, y5, y7)                       \
  " and.b32 d, d, 0x80808080;\n" DIECAST_E2M1_TOPS("e", y0, y2, y4, y6)                       \
  " shr.u32 e, e, 4;\n and.b32 e, e, 0x08080808;\n or.b32 a, d, a;\n or.b32 %0, a, e;\n"

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

template <int Count>
DIECAST_DEVICE u32 e2m1_codes(const f32 (&y)[Count]) {
  static_assert(Count == 4 || Count == 8, "half a word of codes, or a word");
#if DIECAST_HOST
  u32 codes = 0;
  for (int i = 0; i < Count; ++i) codes |= e2m1_code(y[i]) << (4 * i);
  return codes;
#elif DIECAST_HAS_E2M1_CVT
  u32 codes = 0;
DIECAST_UNROLL
  for (int i = 0; i < Count; i += 2) codes |= e2m1x2_from_f32(y[i], y[i + 1]) << (4 * i);
  return codes;
#else
  u32 codes;
  if constexpr (Count == 4) {
    asm("{\n .reg .b32 b, c, d, p;\n" DIECAST_E2M1_FOUR("%0", "%1", "%2", "%3", "%4") "}"
        : "=&r"(codes)
        : "f"(y[0]), "f"(y[1]), "f"(y[2]), "f"(y[3]));
    const f32 eight[8] = {y[0], y[1], y[2], y[3]};
    return ((codes + 0x8888u) & 0xFFFFu) | signs_of_eight(eight);
  } else {
    asm("{\n" DIECAST_E2M1_EIGHT("%1", "%2", "%3", "%4", "%5", "%6", "%7", "%8") "}"
        : "=r"(codes)
        : "f"(y[0]), "f"(y[1]), "f"(y[2]), "f"(y[3]), "f"(y[4]), "f"(y[5]), "f"(y[6]), "f"(y[7]));
    return codes;
  }
#endif
}

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
  const u32 low = __byte_perm(codes_and_magnitudes(y[0], y[1], v[0], v[1]),
                              codes_and_magnitudes(y[2], y[3], v[2], v[3]), 0x73);
  const u32 high = __byte_perm(codes_and_magnitudes(y[4], y[5], v[4], v[5]),
                               codes_and_magnitudes(y[6], y[7], v[6], v[7]), 0x73);
  return __byte_perm(low, high, 0x5410);
#endif
}

}  // namespace diecast
