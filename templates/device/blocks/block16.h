// Sixteen neighbouring elements of a row, as the 4-bit formats quantize them:
//   load_block16(x), load_block16_elements(x, count)   from memory
//   block16_of<IN>(values)          from f32, each rounded to IN
//   amax_of(block)                  the largest |element|, NaN ignored, at least +0
//   amax_or_nan(block)              the same, 0x7FFFFFFF if one is NaN
//   codes_of(block, factor, codes)  E2M1 codes of its elements times factor, in two words
//   signs_of(block, half)           the signs of eight, where their codes have them
#pragma once

#include <diecast/device/blocks/block16_cuda.h>
#include <diecast/device/blocks/block16_data.h>
#include <diecast/device/blocks/block16_host.h>
#include <diecast/device/numbers/e2m1_codes.h>

namespace diecast {

template <class IN>
DIECAST_DEVICE f32 amax_of(const Block16<IN>& block) {
  return amax_of_words<IN, Block16<IN>::kWords>(block.words);
}

// The same, any positive NaN if one is.
template <class IN>
DIECAST_DEVICE f32 amax_with_nan(const Block16<IN>& block) {
#if DIECAST_HOST
  u32 largest = 0;
  for (const u32 word : block.words) {
    if constexpr (bits<IN>() == 32) {
      largest = max(largest, word & 0x7FFFFFFFu);
    } else {
      largest = max(largest, max(word & 0x7FFFu, word >> 16 & 0x7FFFu));
    }
  }
#else
  const u32 largest = largest_bits<IN>(block.words);
#endif
  return fabsf(to_f32(from_bits<IN>(largest)));  // a NaN's bits are above all numbers'
}

template <class IN>
DIECAST_DEVICE f32 amax_or_nan(const Block16<IN>& block) {
  const f32 amax = amax_with_nan(block);
  return amax == amax ? amax : __uint_as_float(0x7FFFFFFFu);
}

// The signs of elements 8 * half to 8 * half + 7, in the top bits of nibbles; else zeros.
template <class IN>
DIECAST_DEVICE u32 signs_of(const Block16<IN>& block, int half) {
  u32 even, odd;  // in the top bits of bytes
  if constexpr (bits<IN>() == 16) {
    const u32* w = block.words + 4 * half;
    const u32 low = __byte_perm(w[0], w[1], 0x7351), high = __byte_perm(w[2], w[3], 0x7351);
    even = __byte_perm(low, high, 0x5410), odd = __byte_perm(low, high, 0x7632);
  } else {
    const u32* w = block.words + 8 * half;
    even = top_bytes(w[0], w[2], w[4], w[6]), odd = top_bytes(w[1], w[3], w[5], w[7]);
  }
  return (odd & 0x80808080u) | (even >> 4 & 0x08080808u);
}

}  // namespace diecast
