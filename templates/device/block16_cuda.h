// Maxima and codes of sixteen elements on a GPU: packed maxima, and bytes gathered by permutes.
#pragma once

#include <diecast/device/block16_data.h>
#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

#if !DIECAST_HOST

namespace diecast {

// max(|a|, |b|) of the two halves of a word, a number where either is one.
template <class IN>
DIECAST_DEVICE u32 max_magnitudes(u32 a, u32 b) {
  u32 c;
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    asm("max.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a & 0x7FFF7FFFu), "r"(b & 0x7FFF7FFFu));
  } else {
    asm("max.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a & 0x7FFF7FFFu), "r"(b & 0x7FFF7FFFu));
  }
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
    return to_f32(IN{static_cast<u16>(amax)});
  }
}

// Bytes at place `at` of eight words: of the even ones in `even`, of the odd ones in `odd`.
struct GatheredBytes {
  u32 even, odd;
};
template <int at>
DIECAST_DEVICE GatheredBytes gather_bytes(const u32 w[8]) {
  constexpr u32 kTwo = at | (4 + at) << 4;
  return {__byte_perm(__byte_perm(w[0], w[2], kTwo), __byte_perm(w[4], w[6], kTwo), 0x5410),
          __byte_perm(__byte_perm(w[1], w[3], kTwo), __byte_perm(w[5], w[7], kTwo), 0x5410)};
}

// Codes of elements 8 * half .. 8 * half + 7 times `factor`, element 2j in the low nibble of byte j.
// Signs come from the products: a product that is NaN has none.
template <class IN>
DIECAST_DEVICE u32 codes_of(const Block16<IN>& block, int half, f32 factor) {
  u32 product[8], magnitude[8];
DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) {
    const f32 y = __fmul_rn(block.element(8 * half + i), factor);
    product[i] = __float_as_uint(y);
    magnitude[i] = e2m1_magnitude(y);
  }
  const GatheredBytes m = gather_bytes<0>(magnitude), s = gather_bytes<3>(product);
  return (m.even & 0x07070707u) | (m.odd << 4 & 0x70707070u) | (s.even >> 4 & 0x08080808u) |
         (s.odd & 0x80808080u);
}

}  // namespace diecast

#endif
