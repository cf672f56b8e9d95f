// Maxima and codes of sixteen elements on a GPU.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16_data.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/e2m1_codes.h>

#if !DIECAST_HOST

namespace diecast {

// The largest |value| of all halves of eight words, in the low half of the outcome: 0 where all are
// NaN (the fold with 0), or with Kept NaN where one is. The bits above it, and its sign, say nothing. One piece of
// assembly, for the sake of the compiler's time. `type`: "bf16x2", `nan`: "" or ".NaN". (ordinary_codes.h takes its steps too.)
#if DIECAST_CC >= 86
#define DIECAST_LARGEST(nan, type, a, b, c) " max" nan ".xorsign.abs." type " " a ", " b ", " c ";\n"
#define DIECAST_FOLD(nan, type, a, b) DIECAST_LARGEST(nan, type, a, a, b)
#else
#define DIECAST_LARGEST(nan, type, a, b, c) \
  " and.b32 s, " b ", 0x7FFF7FFF;\n and.b32 t, " c ", 0x7FFF7FFF;\n max" nan "." type " " a ", s, t;\n"
#define DIECAST_FOLD(nan, type, a, b) " max" nan "." type " " a ", " a ", " b ";\n"
#endif
#define DIECAST_LARGEST_OF_EIGHT(nan, type, last)                                                                             \
  asm("{\n .reg .b32 a, b, c, d, s, t;\n" DIECAST_LARGEST(nan, type, "a", "%1", "%2")                                         \
          DIECAST_LARGEST(nan, type, "b", "%3", "%4") DIECAST_LARGEST(nan, type, "c", "%5", "%6")                             \
              DIECAST_LARGEST(nan, type, "d", "%7", "%8") DIECAST_FOLD(nan, type, "a", "b") DIECAST_FOLD(nan, type, "c", "d") \
                  DIECAST_FOLD(nan, type, "a", "c") " shr.u32 b, a, 16;\n mov.b32 c, 0;\n" DIECAST_FOLD(nan, type, "a", "b")  \
                      last " mov.b32 %0, a;\n}"                                                                               \
      : "=r"(largest)                                                                                                         \
      : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(words[4]), "r"(words[5]), "r"(words[6]), "r"(words[7]))

template <class IN, bool Kept>
DIECAST_DEVICE u32 largest_of_eight(const u32* words) {
  constexpr bool kBf16 = dtype_id<IN> == dtype_id<bf16>;
  u32 largest;
  if constexpr (kBf16 && Kept) {
    DIECAST_LARGEST_OF_EIGHT(".NaN", "bf16x2", "");
  } else if constexpr (kBf16) {
    DIECAST_LARGEST_OF_EIGHT("", "bf16x2", DIECAST_FOLD("", "bf16x2", "a", "c"));
  } else if constexpr (Kept) {
    DIECAST_LARGEST_OF_EIGHT(".NaN", "f16x2", "");
  } else {
    DIECAST_LARGEST_OF_EIGHT("", "f16x2", DIECAST_FOLD("", "f16x2", "a", "c"));
  }
  return largest;
}
#undef DIECAST_LARGEST_OF_EIGHT

// Of two words, element by element, the larger magnitude: NaN where both are, or with Kept one is. Signs say nothing.
#define DIECAST_LARGER(nan, type) \
  asm("{\n .reg .b32 s, t;\n" DIECAST_LARGEST(nan, type, "%0", "%1", "%2") "}" : "=r"(larger) : "r"(a), "r"(b))
template <class IN, bool Kept>
DIECAST_DEVICE u32 larger_elements(u32 a, u32 b) {
  u32 larger;
  if constexpr (bits<IN>() == 32 && Kept) {
    larger = max(a & 0x7FFFFFFFu, b & 0x7FFFFFFFu);
  } else if constexpr (bits<IN>() == 32) {
    larger = __float_as_uint(fmaxf(fabsf(__uint_as_float(a)), fabsf(__uint_as_float(b))));
  } else if constexpr (dtype_id<IN> == dtype_id<bf16> && Kept) {
    DIECAST_LARGER(".NaN", "bf16x2");
  } else if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    DIECAST_LARGER("", "bf16x2");
  } else if constexpr (Kept) {
    DIECAST_LARGER(".NaN", "f16x2");
  } else {
    DIECAST_LARGER("", "f16x2");
  }
  return larger;
}
#undef DIECAST_LARGER

// The largest |element| of sixteen words of one, by steps that are assembly for the sake of the compiler's time.
#define DIECAST_OF_SIXTEEN_WORDS(step, largest)                                                                                 \
  asm("{\n .reg .b32 a;\n mov.b32 %0, 0;\n" step("%1") step("%2") step("%3") step("%4") step("%5") step("%6") step("%7")        \
          step("%8") step("%9") step("%10") step("%11") step("%12") step("%13") step("%14") step("%15") step("%16") "}"         \
      : "=&r"(largest)                                                                                                          \
      : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(words[4]), "r"(words[5]), "r"(words[6]), "r"(words[7]), \
        "r"(words[8]), "r"(words[9]), "r"(words[10]), "r"(words[11]), "r"(words[12]), "r"(words[13]), "r"(words[14]),           \
        "r"(words[15]))
#define DIECAST_LARGER_NUMBER(word) " abs.f32 a, " word ";\n max.f32 %0, %0, a;\n"
#define DIECAST_LARGER_BITS(word) " and.b32 a, " word ", 0x7FFFFFFF;\n max.u32 %0, %0, a;\n"

// The largest |element| of `count` words, NaN ignored, at least +0.
template <class IN, int count>
DIECAST_DEVICE f32 amax_of_words(const u32* words) {
  static_assert(count == bits<IN>() / 2);
  u32 largest;
  if constexpr (bits<IN>() == 32) {
    DIECAST_OF_SIXTEEN_WORDS(DIECAST_LARGER_NUMBER, largest);
    return __uint_as_float(largest);
  } else {
    largest = largest_of_eight<IN, false>(words) & 0x7FFFu;
    return to_f32(IN{static_cast<u16>(largest)});
  }
}

// The bits of the largest |element| of a block: those of a NaN are above all numbers'.
template <class IN>
DIECAST_DEVICE u32 largest_bits(const u32* words) {
  u32 largest;
  if constexpr (bits<IN>() == 32) {
    DIECAST_OF_SIXTEEN_WORDS(DIECAST_LARGER_BITS, largest);
  } else {
    largest = largest_of_eight<IN, true>(words);
  }
  return largest;
}
#undef DIECAST_LARGER_BITS
#undef DIECAST_LARGER_NUMBER
#undef DIECAST_OF_SIXTEEN_WORDS

// Codes of elements 8 * half to 8 * half + 7 times `factor`, two a byte, the first in the low nibble.
#if !DIECAST_HAS_E2M1_CVT
#define DIECAST_BF16_PRODUCTS(y0, y1, word)                \
  " shl.b32 " y0 ", " word ", 16;\n and.b32 " y1 ", " word \
  ", 0xFFFF0000;\n"                                        \
  " mul.rn.f32 " y0 ", " y0 ", %5;\n mul.rn.f32 " y1 ", " y1 ", %5;\n"
#define DIECAST_F16_PRODUCTS(y0, y1, word)                                       \
  " mov.b32 {low, high}, " word ";\n cvt.f32.f16 " y0 ", low;\n cvt.f32.f16 " y1 \
  ", high;\n"                                                                    \
  " mul.rn.f32 " y0 ", " y0 ", %5;\n mul.rn.f32 " y1 ", " y1 ", %5;\n"
#define DIECAST_CODES_OF_FLOATS                                                                                                 \
  asm("{\n .reg .b32 s, t, u, v, w, x, y, z;\n mul.rn.f32 s, %1, %9;\n mul.rn.f32 t, %2, %9;\n"                                 \
      " mul.rn.f32 u, %3, %9;\n mul.rn.f32 v, %4, %9;\n mul.rn.f32 w, %5, %9;\n"                                                \
      " mul.rn.f32 x, %6, %9;\n mul.rn.f32 y, %7, %9;\n mul.rn.f32 z, %8, %9;\n" DIECAST_E2M1_EIGHT("s", "t", "u", "v", "w",    \
                                                                                                    "x", "y", "z") "}"          \
      : "=r"(codes)                                                                                                             \
      : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(words[4]), "r"(words[5]), "r"(words[6]), "r"(words[7]), \
        "f"(factor))
#define DIECAST_CODES_OF_WORDS(products)                                                                                   \
  asm("{\n .reg .b16 low, high;\n .reg .b32 s, t, u, v, w, x, y, z;\n" products("s", "t", "%1") products("u", "v", "%2")   \
          products("w", "x", "%3") products("y", "z", "%4") DIECAST_E2M1_EIGHT("s", "t", "u", "v", "w", "x", "y", "z") "}" \
      : "=r"(codes)                                                                                                        \
      : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "f"(factor))
#endif

template <class IN>
DIECAST_DEVICE u32 codes_of_half(const Block16<IN>& block, int half, f32 factor) {
#if DIECAST_HAS_E2M1_CVT
  f32 y[8];
  DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) y[i] = __fmul_rn(block.element(8 * half + i), factor);
  return e2m1_codes(y);
#else
  const u32* words = block.words + half * (Block16<IN>::kWords / 2);
  u32 codes;
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    DIECAST_CODES_OF_WORDS(DIECAST_BF16_PRODUCTS);
  } else if constexpr (dtype_id<IN> == dtype_id<f16>) {
    DIECAST_CODES_OF_WORDS(DIECAST_F16_PRODUCTS);
  } else {
    DIECAST_CODES_OF_FLOATS;
  }
  return codes;
#endif
}

template <class IN>
DIECAST_DEVICE void codes_of(const Block16<IN>& block, f32 factor, u32* codes) {
  codes[0] = codes_of_half(block, 0, factor);
  codes[1] = codes_of_half(block, 1, factor);
}

}  // namespace diecast

#endif
