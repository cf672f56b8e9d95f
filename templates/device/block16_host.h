// Maxima and codes of sixteen elements on the host, four lanes at a time in the compiler's vector
// type, which every processor we know has; the same bits as the GPU's versions in block16_cuda.h.
#pragma once

#include <diecast/device/block16_data.h>
#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

#if DIECAST_HOST

namespace diecast {

typedef u32 Lanes __attribute__((vector_size(16)));
typedef i32 SignedLanes __attribute__((vector_size(16)));
typedef f32 FloatLanes __attribute__((vector_size(16)));

DIECAST_DEVICE Lanes load_lanes(const u32* words) {
  Lanes lanes;
  __builtin_memcpy(&lanes, words, sizeof lanes);
  return lanes;
}

// All ones where a is greater; for values below 2^31, as magnitudes of floats are.
DIECAST_DEVICE Lanes greater_lanes(Lanes a, Lanes b) {
  return (Lanes)((SignedLanes)a > (SignedLanes)b);
}

DIECAST_DEVICE Lanes max_lanes(Lanes a, Lanes b) {
  const Lanes greater = greater_lanes(a, b);
  return (a & greater) | (b & ~greater);
}

DIECAST_DEVICE Lanes all_lanes(u32 value) { return Lanes{value, value, value, value}; }

// Elements of four words: the low or high halves of 16-bit types, as f32. f16 gets its scale from
// the exact factor 2^112; its largest exponent is infinity's and NaN's.
template <class IN>
DIECAST_DEVICE FloatLanes half_of_lanes(Lanes words, bool high) {
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    return (FloatLanes)(high ? words & 0xFFFF0000u : words << 16);
  } else {
    const Lanes h = high ? words >> 16 : words & 0xFFFFu;
    const FloatLanes magnitude = (FloatLanes)((h & 0x7FFFu) << 13) * 0x1p112f;
    const Lanes special = greater_lanes(h & 0x7FFFu, all_lanes(0x7BFFu)) & 0x7F800000u;
    return (FloatLanes)((Lanes)magnitude | special | (h & 0x8000u) << 16);
  }
}

// e2m1_magnitude with the sign, masked: four codes. A NaN's magnitude is above infinity's, so it
// saturates too; its sign is dropped.
DIECAST_DEVICE Lanes codes_of_lanes(FloatLanes x, f32 factor) {
  const Lanes y = (Lanes)(x * factor);
  const Lanes magnitude = y & 0x7FFFFFFFu;
  const Lanes nan = greater_lanes(magnitude, all_lanes(0x7F800000u));
  const Lanes large = greater_lanes(magnitude, all_lanes(0x40C00000u));  // 6
  const Lanes a = (magnitude & ~large) | (large & 0x40C00000u);
  const Lanes power = max_lanes(a, all_lanes(0x3F800000u)) & 0x7F800000u;
  const FloatLanes shifted = (FloatLanes)power * 4194307.0f;
  const Lanes sum = (Lanes)((FloatLanes)a + shifted);
  return ((sum + (sum >> 22)) & 7u) | (y >> 28 & 8u & ~nan);
}

// Lane j's low byte into byte j.
DIECAST_DEVICE u32 bytes_of_lanes(Lanes lanes) {
  u64 words[2];
  __builtin_memcpy(words, &lanes, sizeof words);
  const u64 low = words[0] | words[0] >> 24, high = words[1] | words[1] >> 24;
  return static_cast<u32>((low & 0xFFFFu) | high << 16);
}

template <class IN, int count>
DIECAST_DEVICE f32 amax_of_words(const u32* from) {
  Lanes found = {0, 0, 0, 0};
  for (int i = 0; i < count; i += 4) {
    const Lanes words = load_lanes(from + i);
    if constexpr (bits<IN>() == 32) {
      found = max_lanes(found, words & 0x7FFFFFFFu);
    } else {
      found = max_lanes(found, max_lanes(words & 0x7FFFu, words >> 16 & 0x7FFFu));
    }
  }
  u32 largest = 0;
  for (int i = 0; i < 4; ++i) largest = largest > found[i] ? largest : found[i];
  f32 amax = to_f32(from_bits<IN>(largest));
  if (amax == amax) return amax;
  amax = 0.0f;  // a NaN is above all numbers: look again without it
  for (int i = 0; i < count * 32 / bits<IN>(); ++i) {
    amax = fmaxf(amax, fabsf(element_of<IN>(from, i)));
  }
  return amax;
}

template <class IN>
DIECAST_DEVICE u32 codes_of(const Block16<IN>& block, int half, f32 factor) {
  if constexpr (bits<IN>() == 32) {
    const u32* from = block.words + 8 * half;
    const Lanes a = codes_of_lanes((FloatLanes)load_lanes(from), factor);
    const Lanes b = codes_of_lanes((FloatLanes)load_lanes(from + 4), factor);
    const Lanes pairs = {a[0] | a[1] << 4, a[2] | a[3] << 4, b[0] | b[1] << 4, b[2] | b[3] << 4};
    return bytes_of_lanes(pairs);
  } else {
    const Lanes words = load_lanes(block.words + 4 * half);
    return bytes_of_lanes(codes_of_lanes(half_of_lanes<IN>(words, false), factor) |
                          codes_of_lanes(half_of_lanes<IN>(words, true), factor) << 4);
  }
}

}  // namespace diecast

#endif
