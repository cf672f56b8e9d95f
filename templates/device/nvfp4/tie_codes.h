// Codes of ordinary blocks of bf16 (nvfp4_ordinary.h) by products that are cut off in a way that is right for them (tie_ways.h): 64
// instructions a block, 20 of them in the half-rate pipe, where ordinary_codes.h takes 112 and 62.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/nvfp4/tie_ways.h>

namespace diecast {

#if DIECAST_HOST

// Of a product times 2^-14, below 7 * 2^-14 in magnitude.
DIECAST_DEVICE u32 tie_code(f32 y, u32 added) {
  const f32 magnitude = fabsf(y);
  u32 cut = magnitude < 0x1p-14f ? static_cast<u32>(magnitude * 0x1p24f)  // to an f16
                                 : (__float_as_uint(magnitude) >> 13) - (112u << 10);
  const auto value = [](u32 bits) {  // of an f16 below 2
    return bits < 0x400u ? static_cast<f32>(bits) * 0x1p-24f : __uint_as_float((bits << 13) + (112u << 23));
  };
  const f32 sum = value(cut) + (added != 0 ? value(cut) * 0x1p-10f : 0.0f);  // to an f16, nearest even
  const f32 unit = cut < 0x800u ? 0x1p-24f : cut < 0xC00u ? 0x1p-23f : 0x1p-22f;
  cut += static_cast<u32>((sum / unit + 0x1.8p23f - 0x1.8p23f) - value(cut) / unit);
  return ((cut + 0x100u) >> 9 & 7u) | (__float_as_uint(y) >> 28 & 8u);
}

#else

// Of words of two elements, x as it lies below or above; that takes no instruction of the half-rate pipe: a product with (0, 1), to
// which (+0, -0) is added, m, so that a zero keeps its sign.
#define DIECAST_LOW(x, word) " shl.b32 " x ", " word ", 16;\n"
#define DIECAST_HIGH(x, word) " fma.rn.bf16x2 " x ", " word ", o, m;\n"
// Two products as f16, cut off, and what is added.
#define DIECAST_TWO(pair, half, first, second, factor, added)                                                                \
  half("a", first) half("b", second) " mul.rn.f32 a, a, " factor ";\n mul.rn.f32 b, b, " factor                              \
                                     ";\n"                                                                                   \
                                     " cvt.rz.f16x2.f32 " pair ", b, a;\n fma.rn.f16x2 " pair ", " pair ", " added ", " pair \
                                     ";\n"
// Bits 4 to 7 of four bytes: the codes of two such pairs, c and d. Half a step is added where a byte's bits 1 to 3 go. s: the
// upper bytes of all.
#define DIECAST_CODES_OF_PAIRS(four)                                                                \
  " prmt.b32 c, c, d, 0x7531;\n or.b32 s, s, c;\n mad.lo.u32 d, c, 8, 0x08080808;\n lop3.b32 " four \
  ", d, c, 0x70707070, "                                                                            \
  "0xE4;\n"
#define DIECAST_FOUR(four, half, w0, w1, w2, w3, factor, added) \
  DIECAST_TWO("c", half, w0, w1, factor, added) DIECAST_TWO("d", half, w2, w3, factor, added) DIECAST_CODES_OF_PAIRS(four)
#define DIECAST_EIGHT(codes, even, e0, e2, e4, e6, odd, o1, o3, o5, o7, factor, added) \
  DIECAST_FOUR("e", even, e0, e2, e4, e6, factor, added)                               \
  DIECAST_FOUR("f", odd, o1, o3, o5, o7, factor, added) " shr.u32 e, e, 4;\n lop3.b32 " codes ", e, f, 0x0F0F0F0F, 0xE4;\n"
#define DIECAST_BEGIN(factor) /* o: (0, 1) as bf16 */                                   \
  "{\n .reg .b32 a, b, c, d, e, f, m, o, s;\n mov.b32 o, 0x3F800000;\n mov.b32 s, 0;\n" \
  " lop3.b32 m, " factor ", " factor ", 0x80000000, 0x0A;\n"

#endif

// What else is seen of products: one of these bits where one is 8 * 2^-14 or more, infinite or NaN.
inline constexpr u32 kTieLarge = 0x70707070u;

// Of a block's elements.
DIECAST_DEVICE void tie_codes(const Block16<bf16>& block, const TieWay& way, u32 (&codes)[2], u32& seen) {
#if DIECAST_HOST
  codes[0] = codes[1] = seen = 0;
  for (int i = 0; i < 16; ++i) {
    const f32 product = block.element(i) * way.factor;
    codes[i / 8] |= tie_code(product, way.added) << 4 * (i % 8);
    if (!(fabsf(product) < 0x1p-11f)) seen = kTieLarge;
  }
#else
  const u32* w = block.words;
  asm(DIECAST_BEGIN("%11") DIECAST_EIGHT("%0", DIECAST_LOW, "%3", "%4", "%5", "%6", DIECAST_HIGH, "%3", "%4", "%5", "%6", "%11",
                                         "%12") DIECAST_EIGHT("%1", DIECAST_LOW, "%7", "%8", "%9", "%10", DIECAST_HIGH, "%7",
                                                              "%8", "%9", "%10", "%11", "%12") " mov.b32 %2, s;\n}"
      : "=&r"(codes[0]), "=&r"(codes[1]), "=&r"(seen)
      : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "f"(way.factor), "r"(way.added));
#endif
}

#if !DIECAST_HOST
// Of eight elements side by side.
DIECAST_DEVICE u32 tie_codes(const u32 (&w)[4], const TieWay& way, u32& seen) {
  u32 codes;
  asm(DIECAST_BEGIN("%6") DIECAST_EIGHT("%0", DIECAST_LOW, "%2", "%3", "%4", "%5", DIECAST_HIGH, "%2", "%3", "%4", "%5", "%6",
                                        "%7") " mov.b32 %1, s;\n}"
      : "=&r"(codes), "=&r"(seen)
      : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "f"(way.factor), "r"(way.added));
  return codes;
}

// Of eight elements of two columns: `w` are words of neighbours in rows that follow each other.
DIECAST_DEVICE void tie_codes_of_columns(const u32* w, const TieWay& way, const TieWay& other, u32& first, u32& second) {
  asm(DIECAST_BEGIN("%10")
          DIECAST_EIGHT("%0", DIECAST_LOW, "%2", "%4", "%6", "%8", DIECAST_LOW, "%3", "%5", "%7", "%9", "%10", "%11")
              DIECAST_EIGHT("%1", DIECAST_HIGH, "%2", "%4", "%6", "%8", DIECAST_HIGH, "%3", "%5", "%7", "%9", "%12", "%13") "}"
      : "=&r"(first), "=&r"(second)
      : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[4]), "r"(w[5]), "r"(w[6]), "r"(w[7]), "f"(way.factor), "r"(way.added),
        "f"(other.factor), "r"(other.added));
}
#undef DIECAST_BEGIN
#undef DIECAST_EIGHT
#undef DIECAST_FOUR
#undef DIECAST_CODES_OF_PAIRS
#undef DIECAST_TWO
#undef DIECAST_HIGH
#undef DIECAST_LOW
#endif

}  // namespace diecast
