// Maxima and codes of sixteen elements on a GPU: packed maxima, and codes that round in f32
// and are read off the bits of an f16.
#pragma once

#include <diecast/device/block16_data.h>
#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

#if !DIECAST_HOST

namespace diecast {

// The larger |value| of each half of two words, a number where either is one. The sign of a half is
// its operands' signs, xored, where the target has that instruction, else none.
template <class IN>
DIECAST_DEVICE u32 max_magnitudes(u32 a, u32 b) {
  u32 c;
#if DIECAST_CC >= 86
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    asm("max.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  } else {
    asm("max.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  }
#else
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    asm("max.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a & 0x7FFF7FFFu), "r"(b & 0x7FFF7FFFu));
  } else {
    asm("max.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a & 0x7FFF7FFFu), "r"(b & 0x7FFF7FFFu));
  }
#endif
  return c;
}

// The largest |element| of `count` words, NaN ignored, at least +0.
template <class IN, int count>
DIECAST_DEVICE f32 amax_of_words(const u32* words) {
  if constexpr (bits<IN>() == 32) {
    f32 amax = 0.0f;
DIECAST_UNROLL
    for (int i = 0; i < count; ++i) amax = fmaxf(amax, fabsf(__uint_as_float(words[i])));
    return amax;
  } else {
    u32 amax = 0;
DIECAST_UNROLL
    for (int i = 0; i < count; ++i) amax = max_magnitudes<IN>(amax, words[i]);
    amax = max_magnitudes<IN>(amax, amax >> 16);
    return to_f32(IN{static_cast<u16>(amax & 0x7FFFu)});
  }
}

// |y| rounded to the grid of E2M1, which goes on above 6 in growing steps. With p the power of two
// at or below max(|y|, 1) the step is p / 2, the last place of a float near 2^22 p: adding that
// rounds, nearest even. NaN and infinity give NaN.
DIECAST_DEVICE f32 rounded_to_e2m1(f32 y) {
  const f32 power = __uint_as_float(__float_as_uint(fmaxf(fabsf(y), 1.0f)) & 0x7F800000u);
  return __fmaf_rn(power, -0x1p22f, __fmaf_rn(power, 0x1p22f, fabsf(y)));
}

// Two codes in the top byte of a word, the first in its low nibble. As an f16 times 2^-14 a value
// of the grid has its code in bits 9 to 11; NaN gives way to 6 in the minimum, and has no sign
// because products that are NaN have none.
DIECAST_DEVICE u32 codes_in_top_byte(f32 y0, f32 y1) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;"
      : "=r"(pair)
      : "f"(rounded_to_e2m1(y1)), "f"(rounded_to_e2m1(y0)));
  asm("min.f16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x46004600u));
  asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(pair) : "r"(0x04000400u));
  const u32 signs = __byte_perm(__float_as_uint(y0), __float_as_uint(y1), 0x7632) & 0x80008000u;
  return (pair * 8 + signs) * 4097u;  // nibbles at 12 and 28; the lower one to 24 too
}

// Codes of elements 8 * half to 8 * half + 7 times `factor`, two a byte, the first in the low nibble.
template <class IN>
DIECAST_DEVICE u32 codes_of(const Block16<IN>& block, int half, f32 factor) {
  u32 top[4];
DIECAST_UNROLL
  for (int j = 0; j < 4; ++j) {
    top[j] = codes_in_top_byte(__fmul_rn(block.element(8 * half + 2 * j), factor),
                               __fmul_rn(block.element(8 * half + 2 * j + 1), factor));
  }
  return __byte_perm(__byte_perm(top[0], top[1], 0x73), __byte_perm(top[2], top[3], 0x73), 0x5410);
}

}  // namespace diecast

#endif
