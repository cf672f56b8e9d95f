// Maxima and codes of sixteen elements on a GPU.
#pragma once

#include <diecast/device/block16_data.h>
#include <diecast/device/convert.h>
#include <diecast/device/e2m1_codes.h>
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

// Codes of elements 8 * half to 8 * half + 7 times `factor`, two a byte, the first in the low nibble.
template <class IN>
DIECAST_DEVICE u32 codes_of(const Block16<IN>& block, int half, f32 factor) {
  f32 y[8];
DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) y[i] = __fmul_rn(block.element(8 * half + i), factor);
  return e2m1_codes(y);
}

}  // namespace diecast

#endif
