// Maxima and codes of sixteen elements on a GPU: packed maxima, and bytes gathered by permutes.
#pragma once

#include <diecast/device/block16_data.h>
#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

#if !DIECAST_HOST

namespace diecast {

template <class IN>
DIECAST_DEVICE f32 amax_of(const Block16<IN>& block) {
  return amax_ignoring_nan(block);
}

// max(|a|, |b|) of the two halves of a word, NaN if either is one.
template <class IN>
DIECAST_DEVICE u32 max_magnitudes(u32 a, u32 b) {
  u32 c;
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(c) : "r"(a & 0x7FFF7FFFu), "r"(b & 0x7FFF7FFFu));
  } else {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a & 0x7FFF7FFFu), "r"(b & 0x7FFF7FFFu));
  }
  return c;
}

// The largest |element|, or NaN if any element is one: tells with one comparison whether a block
// needs special care.
template <class IN>
DIECAST_DEVICE f32 amax_or_nan_of(const Block16<IN>& block) {
  if constexpr (bits<IN>() == 32) {
    f32 amax = 0.0f;
DIECAST_UNROLL
    for (int i = 0; i < 16; ++i) {
      asm("max.NaN.f32 %0, %0, %1;" : "+f"(amax) : "f"(fabsf(block.element(i))));
    }
    return amax;
  } else {
    u32 amax = max_magnitudes<IN>(block.words[0], block.words[1]);
DIECAST_UNROLL
    for (int i = 2; i < 8; ++i) amax = max_magnitudes<IN>(amax, block.words[i]);
    amax = max_magnitudes<IN>(amax, amax >> 16);
    return to_f32(IN{static_cast<u16>(amax)});
  }
}

// Signs of elements 8 * half .. 8 * half + 7 at bits 3, 7, 11, ... 31: where their codes' signs go.
template <class IN>
DIECAST_DEVICE u32 code_signs(const Block16<IN>& block, int half) {
  u32 even, odd;  // bit 7 of byte j: the sign of element 2j, 2j + 1
  if constexpr (bits<IN>() == 32) {
    const u32* w = block.words + 8 * half;
    even = __byte_perm(__byte_perm(w[0], w[2], 0x0073), __byte_perm(w[4], w[6], 0x0073), 0x5410);
    odd = __byte_perm(__byte_perm(w[1], w[3], 0x0073), __byte_perm(w[5], w[7], 0x0073), 0x5410);
  } else {
    const u32* w = block.words + 4 * half;
    const u32 a = __byte_perm(w[0], w[1], 0x7351), b = __byte_perm(w[2], w[3], 0x7351);
    even = __byte_perm(a, b, 0x5410);
    odd = __byte_perm(a, b, 0x7632);
  }
  return (even >> 4 & 0x08080808u) | (odd & 0x80808080u);
}

// Codes of elements 8 * half .. 8 * half + 7 times `factor`, element 2j in the low nibble of byte j;
// every |product| is below 7 and none is NaN.
template <class IN>
DIECAST_DEVICE u32 codes_in_range(const Block16<IN>& block, int half, f32 factor) {
  u32 magnitude[8];
DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) {
    magnitude[i] = e2m1_magnitude(__fmul_rn(block.element(8 * half + i), factor));
  }
  const u32 even = __byte_perm(__byte_perm(magnitude[0], magnitude[2], 0x0040),
                               __byte_perm(magnitude[4], magnitude[6], 0x0040), 0x5410);
  const u32 odd = __byte_perm(__byte_perm(magnitude[1], magnitude[3], 0x0040),
                              __byte_perm(magnitude[5], magnitude[7], 0x0040), 0x5410);
  return (even & 0x07070707u) | (odd << 4 & 0x70707070u) | code_signs(block, half);
}

}  // namespace diecast

#endif
