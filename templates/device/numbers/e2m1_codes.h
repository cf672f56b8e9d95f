// E2M1 codes of several products at once, two a byte, the first in the low nibble: nearest even,
// saturating at 6, 7 for NaN. Products, because a NaN that comes of arithmetic has no sign on a GPU.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>

namespace diecast {

// The top bytes of four words, the first's lowest.
DIECAST_DEVICE u32 top_bytes(u32 a, u32 b, u32 c, u32 d) {
  return __byte_perm(__byte_perm(a, b, 0x73), __byte_perm(c, d, 0x73), 0x5410);
}

// The signs of eight products in the top bits of nibbles; else zeros.
DIECAST_DEVICE u32 signs_of_eight(const f32 (&y)[8]) {
  const auto tops = [&](int i) {
    return top_bytes(__float_as_uint(y[i]), __float_as_uint(y[i + 2]), __float_as_uint(y[i + 4]), __float_as_uint(y[i + 6]));
  };
  return (tops(1) & 0x80808080u) | (tops(0) >> 4 & 0x08080808u);
}

#if DIECAST_HOST

DIECAST_DEVICE u32 e2m1_code(f32 y) { return (e2m1_magnitude(y) & 7u) | (y == y ? __float_as_uint(y) >> 28 & 8u : 0u); }

#elif !DIECAST_HAS_E2M1_CVT

// Codes of eight products as one piece of assembly, %0: the compiler's optimizer takes long for so many operations, and
// gives the same instructions. First four codes, each less 8, in 16 bits; what is above says nothing. With a the lesser
// of |y| and 6 (NaN gives way to it) and P the part of a that is 2 or 4, or next to 0 where a is below 2, the last place
// of K = (2^22 - 1) P + 3 * 2^21 - 4 is the step of E2M1's grid at a, and K ends in P's code less 8 but for P itself, an
// even number of steps: the sum K + a rounds a, nearest even. A code less 8 borrows from the next: what is added to all
// gives it back. Signs are the tops of products.
#define DIECAST_E2M1_SUM(sum, y)                               \
  " abs.f32 " sum ", " y ";\n min.f32 " sum ", " sum           \
  ", 0f40C00000;\n" /* 6 */                                    \
  " and.b32 p, " sum                                           \
  ", 0x40800000;\n fma.rn.f32 p, p, 0f4A7FFFFC, 0f4ABFFFF8;\n" \
  " add.rn.f32 " sum ", p, " sum ";\n"
#define DIECAST_E2M1_FOUR(four, y0, y1, y2, y3) \
  DIECAST_E2M1_SUM(four, y0) DIECAST_E2M1_SUM("b", y1) DIECAST_E2M1_SUM("c", y2)              \
  DIECAST_E2M1_SUM("d", y3) " mad.lo.u32 c, d, 16, c;\n mad.lo.u32 b, c, 16, b;\n"           \
  " mad.lo.u32 " four ", b, 16, " four ";\n"
#define DIECAST_E2M1_TOPS(tops, y0, y1, y2, y3)                  \
  " prmt.b32 b, " y0 ", " y1 ", 0x73;\n prmt.b32 c, " y2 ", " y3 \
  ", 0x73;\n"                                                    \
  " prmt.b32 " tops ", b, c, 0x5410;\n"
#define DIECAST_E2M1_EIGHT(y0, y1, y2, y3, y4, y5, y6, y7) \
  " .reg .b32 a, b, c, d, e, p;\n" DIECAST_E2M1_FOUR("a", y0, y1, y2, y3)                     \
  DIECAST_E2M1_FOUR("e", y4, y5, y6, y7) " prmt.b32 a, a, e, 0x5410;\n"                       \
  " add.u32 a, a, 0x88878888;\n" DIECAST_E2M1_TOPS("d", y1, y3, y5, y7)                       \
  " and.b32 d, d, 0x80808080;\n" DIECAST_E2M1_TOPS("e", y0, y2, y4, y6)                       \
  " shr.u32 e, e, 4;\n and.b32 e, e, 0x08080808;\n or.b32 a, d, a;\n or.b32 %0, a, e;\n"

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

}  // namespace diecast
