// Sixteen neighbouring elements of a row in registers, and loading them: whole and aligned, or element
// by element with a zero-padded tail.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>
#include <diecast/device/vector.h>

namespace diecast {

// Element i of packed words.
template <class IN>
DIECAST_DEVICE f32 element_of(const u32* words, int i) {
  if constexpr (bits<IN>() == 32) {
    return __uint_as_float(words[i]);
  } else {
    return to_f32(IN{static_cast<u16>(words[i / 2] >> (i % 2 * 16))});
  }
}

template <class IN>
struct Block16 {
  static constexpr int kWords = bits<IN>() / 2;  // 8 words of two elements, or 16 of one
  u32 words[kWords];

  DIECAST_DEVICE f32 element(int i) const { return element_of<IN>(words, i); }
};

// All sixteen from an address that is a multiple of 16 bytes. Two loads share a 32-byte sector, so
// they go through the first-level cache: as streaming loads they cost 8 % of the bandwidth.
template <class IN>
DIECAST_DEVICE Block16<IN> load_block16(const IN* x) {
  Block16<IN> block;
DIECAST_UNROLL
  for (int i = 0; i < Block16<IN>::kWords / 4; ++i) {
    const Vector<16> v = load<16>(x + i * (128 / bits<IN>()));
DIECAST_UNROLL
    for (int j = 0; j < 4; ++j) block.words[4 * i + j] = v.words[j];
  }
  return block;
}

// The first `count` (at most 16) from any address, zeros behind them. For tails and rows without
// alignment; the loop stays a loop, because this code is there to be small.
template <class IN>
DIECAST_DEVICE_CALL Block16<IN> load_block16_elements(const IN* x, i64 count) {
  constexpr int kPerWord = 32 / bits<IN>();
  Block16<IN> block = {};
DIECAST_NO_UNROLL
  for (int i = 0; i < 16; ++i) {
    if (i < count) block.words[i / kPerWord] |= to_bits(x[i]) << (i % kPerWord * bits<IN>());
  }
  return block;
}

}  // namespace diecast
