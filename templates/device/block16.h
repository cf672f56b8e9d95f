// Sixteen neighbouring elements of a row in registers, as the 4-bit formats quantize them: loading
// them (whole and aligned, or element by element with a zero-padded tail), their absolute maximum,
// and their signs.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>
#include <diecast/device/vector.h>

namespace diecast {

template <class IN>
struct Block16 {
  static constexpr int kWords = bits<IN>() / 2;  // 8 words of two elements, or 16 of one
  u32 words[kWords];

  DIECAST_DEVICE f32 element(int i) const {
    if constexpr (bits<IN>() == 32) {
      return __uint_as_float(words[i]);
    } else {
      return to_f32(IN{static_cast<u16>(words[i / 2] >> (i % 2 * 16))});
    }
  }
};

// All sixteen from an address that is a multiple of 16 bytes; read once.
template <class IN>
DIECAST_DEVICE Block16<IN> load_block16(const IN* x) {
  Block16<IN> block;
#pragma unroll
  for (int i = 0; i < Block16<IN>::kWords / 4; ++i) {
    const Vector<16> v = load_streaming<16>(x + i * (128 / bits<IN>()));
#pragma unroll
    for (int j = 0; j < 4; ++j) block.words[4 * i + j] = v.words[j];
  }
  return block;
}

// The first `count` (at most 16) from any address, zeros behind them.
template <class IN>
DIECAST_DEVICE Block16<IN> load_block16_elements(const IN* x, i64 count) {
  Block16<IN> block;
#pragma unroll
  for (int i = 0; i < Block16<IN>::kWords; ++i) {
    if constexpr (bits<IN>() == 32) {
      block.words[i] = i < count ? __float_as_uint(x[i]) : 0u;
    } else {
      const u32 low = 2 * i < count ? x[2 * i].bits : 0u;
      const u32 high = 2 * i + 1 < count ? x[2 * i + 1].bits : 0u;
      block.words[i] = low | high << 16;
    }
  }
  return block;
}

// The largest |element|, NaN ignored, at least +0.
template <class IN>
DIECAST_DEVICE f32 amax_of(const Block16<IN>& block) {
  f32 amax = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; ++i) amax = fmaxf(amax, fabsf(block.element(i)));
  return amax;
}

#if !DIECAST_HOST
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
#endif

// The largest |element|, or NaN if any element is one: tells with one comparison whether a block
// needs special care.
template <class IN>
DIECAST_DEVICE f32 amax_or_nan_of(const Block16<IN>& block) {
#if DIECAST_HOST
  // Magnitudes compare as integers, and a NaN's is above every number's.
  u32 amax = 0;
  if constexpr (bits<IN>() == 32) {
    for (int i = 0; i < 16; ++i) {
      const u32 magnitude = block.words[i] & 0x7FFFFFFFu;
      amax = amax > magnitude ? amax : magnitude;
    }
    return __uint_as_float(amax);
  } else {
    for (int i = 0; i < 8; ++i) {
      const u32 low = block.words[i] & 0x7FFFu, high = block.words[i] >> 16 & 0x7FFFu;
      amax = amax > low ? amax : low;
      amax = amax > high ? amax : high;
    }
    return to_f32(IN{static_cast<u16>(amax)});
  }
#else
  if constexpr (bits<IN>() == 32) {
    f32 amax = 0.0f;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      asm("max.NaN.f32 %0, %0, %1;" : "+f"(amax) : "f"(fabsf(block.element(i))));
    }
    return amax;
  } else {
    u32 amax = max_magnitudes<IN>(block.words[0], block.words[1]);
#pragma unroll
    for (int i = 2; i < 8; ++i) amax = max_magnitudes<IN>(amax, block.words[i]);
    amax = max_magnitudes<IN>(amax, amax >> 16);
    return to_f32(IN{static_cast<u16>(amax)});
  }
#endif
}

// Signs of elements 8 * half .. 8 * half + 7 at bits 3, 7, 11, ... 31: where their codes' signs go.
template <class IN>
DIECAST_DEVICE u32 code_signs(const Block16<IN>& block, int half) {
#if DIECAST_HOST
  u32 signs = 0;
  for (int i = 0; i < 8; ++i) {
    const int e = 8 * half + i;
    const u32 word = bits<IN>() == 32 ? block.words[e % Block16<IN>::kWords]
                                      : block.words[e / 2] << (e % 2 ? 0 : 16);
    signs |= (word >> 31) << (4 * i + 3);
  }
  return signs;
#else
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
#endif
}

}  // namespace diecast
