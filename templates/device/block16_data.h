// Sixteen neighbouring elements of a row in registers, and loading them: whole and aligned, or element
// by element with a zero-padded tail.
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
DIECAST_UNROLL
  for (int i = 0; i < Block16<IN>::kWords / 4; ++i) {
    const Vector<16> v = load_streaming<16>(x + i * (128 / bits<IN>()));
DIECAST_UNROLL
    for (int j = 0; j < 4; ++j) block.words[4 * i + j] = v.words[j];
  }
  return block;
}

// The first `count` (at most 16) from any address, zeros behind them.
template <class IN>
DIECAST_DEVICE Block16<IN> load_block16_elements(const IN* x, i64 count) {
  Block16<IN> block;
DIECAST_UNROLL
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
DIECAST_DEVICE f32 amax_ignoring_nan(const Block16<IN>& block) {
  f32 amax = 0.0f;
DIECAST_UNROLL
  for (int i = 0; i < 16; ++i) amax = fmaxf(amax, fabsf(block.element(i)));
  return amax;
}

}  // namespace diecast
