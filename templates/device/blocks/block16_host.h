// Maxima and codes of sixteen elements on the host, in the compiler's vector type: eight lanes at a
// time where the processor has AVX2, else the four that every one we know has; the same bits as the
// GPU's versions in block16_cuda.h.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16_data.h>
#include <diecast/device/numbers/convert.h>

#if DIECAST_HOST

namespace diecast {

#ifdef __AVX2__
constexpr int kVectorLanes = 8;
#else
constexpr int kVectorLanes = 4;
#endif
typedef u32 Lanes __attribute__((vector_size(4 * kVectorLanes)));
typedef i32 SignedLanes __attribute__((vector_size(4 * kVectorLanes)));
typedef f32 FloatLanes __attribute__((vector_size(4 * kVectorLanes)));
typedef u64 WideLanes __attribute__((vector_size(4 * kVectorLanes)));

// Magnitudes of elements of so many bits as signed integers, sixteen bytes of them: maxima end in one
// element, and fewer lanes get there sooner.
template <int element_bits>
struct Magnitudes {
  typedef i32 Lane;
  typedef i32 Lanes __attribute__((vector_size(16)));
};
template <>
struct Magnitudes<16> {
  typedef short Lane;
  typedef short Lanes __attribute__((vector_size(16)));
};
typedef u64 WideQuad __attribute__((vector_size(16)));

DIECAST_DEVICE Lanes load_lanes(const u32* words) {
  Lanes lanes;
  __builtin_memcpy(&lanes, words, sizeof lanes);
  return lanes;
}

template <class V>
DIECAST_DEVICE V max_lanes(V a, V b) {
  return a > b ? a : b;
}

// Elements of some words: the low or high halves of 16-bit types, as f32. f16 gets its scale from
// the exact factor 2^112; its largest exponent is infinity's and NaN's.
template <class IN>
DIECAST_DEVICE FloatLanes half_of_lanes(Lanes words, bool high) {
  if constexpr (dtype_id<IN> == dtype_id<bf16>) {
    return (FloatLanes)(high ? words & 0xFFFF0000u : words << 16);
  } else {
    const Lanes h = high ? words >> 16 : words & 0xFFFFu;
    const FloatLanes magnitude = (FloatLanes)((h & 0x7FFFu) << 13) * 0x1p112f;
    const Lanes special = (Lanes)((h & 0x7FFFu) > 0x7BFFu) & 0x7F800000u;
    return (FloatLanes)((Lanes)magnitude | special | (h & 0x8000u) << 16);
  }
}

// e2m1_magnitude with the sign, masked: a code a lane. A NaN's magnitude is above infinity's, so it
// saturates too; its sign is dropped.
DIECAST_DEVICE Lanes codes_of_lanes(FloatLanes x, f32 factor) {
  const FloatLanes product = x * factor;
  const Lanes y = (Lanes)product;
  const SignedLanes one = SignedLanes{} + 0x3F800000, six = SignedLanes{} + 0x40C00000;
  const SignedLanes magnitude = (SignedLanes)(y & 0x7FFFFFFFu);
  const SignedLanes a = magnitude > six ? six : magnitude;
  const FloatLanes shifted = (FloatLanes)(max_lanes(a, one) & 0x7F800000) * 4194307.0f;
  const Lanes sum = (Lanes)((FloatLanes)a + shifted);
  return ((sum + (sum >> 22)) & 7u) | (y >> 28 & 8u & (Lanes)(product == product));
}

// Two codes a byte, of all lanes: lane i of `low` below lane i of `high`, or two neighbours.
DIECAST_DEVICE void store_pairs(Lanes low, Lanes high, u8* to) {
  const Lanes pairs = low | high << 4;
#ifdef __AVX2__
  typedef u8 Bytes __attribute__((vector_size(32)));
#ifdef __clang__
  const Bytes each = __builtin_shufflevector((Bytes)pairs, (Bytes)pairs, 0, 4, 8, 12, 16, 20, 24, 28, -1, -1, -1, -1, -1, -1, -1,
                                             -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
#else
  const Bytes each = __builtin_shuffle((Bytes)pairs, Bytes{0, 4, 8, 12, 16, 20, 24, 28});
#endif
  const u64 bytes = ((WideLanes)each)[0];
  __builtin_memcpy(to, &bytes, sizeof bytes);
#else
  u64 words[2];
  __builtin_memcpy(words, &pairs, sizeof words);
  const u64 first = words[0] | words[0] >> 24, second = words[1] | words[1] >> 24;
  const u32 bytes = static_cast<u32>((first & 0xFFFFu) | second << 16);
  __builtin_memcpy(to, &bytes, sizeof bytes);
#endif
}
DIECAST_DEVICE void store_pairs(Lanes neighbours, u8* to) {
  const WideLanes both = (WideLanes)neighbours;
  const WideLanes pairs = (both | both >> 28) & 0xFFu;
  for (int i = 0; i < kVectorLanes / 2; ++i) to[i] = static_cast<u8>(pairs[i]);
}

template <class IN, int count>
DIECAST_DEVICE f32 amax_of_words(const u32* from) {
  typedef Magnitudes<bits<IN>()> Of;
  typedef typename Of::Lane Lane;
  typename Of::Lanes found = {}, v;
  for (int i = 0; i < count; i += 4) {
    __builtin_memcpy(&v, from + i, sizeof v);
    found = max_lanes(found, v & static_cast<Lane>(bits<IN>() == 32 ? 0x7FFFFFFF : 0x7FFF));
  }
  found = max_lanes(found, (typename Of::Lanes)((WideQuad)found >> 32));
  if (bits<IN>() == 16) found = max_lanes(found, (typename Of::Lanes)((WideQuad)found >> 16));
  const Lane a = found[0], b = found[64 / bits<IN>()];
  const u32 largest = static_cast<u32>(a > b ? a : b);
  f32 amax = to_f32(from_bits<IN>(largest));
  if (amax == amax) return amax;
  amax = 0.0f;  // a NaN is above all numbers: look again without it
  for (int i = 0; i < count * 32 / bits<IN>(); ++i) {
    amax = fmaxf(amax, fabsf(element_of<IN>(from, i)));
  }
  return amax;
}

// Of two words, element by element, the larger magnitude: NaN where both are, or with Kept one is.
template <class IN, bool Kept>
DIECAST_DEVICE u32 larger_elements(u32 a, u32 b) {
  constexpr u32 kMagnitude = bits<IN>() == 32 ? 0x7FFFFFFFu : 0x7FFFu;
  u32 larger = 0;
  for (u32 shift = 0; shift < 32; shift += bits<IN>()) {
    const u32 one = a >> shift & kMagnitude, other = b >> shift & kMagnitude;
    const f32 x = to_f32(from_bits<IN>(one)), y = to_f32(from_bits<IN>(other));
    const bool first = x != x ? Kept || y != y : y != y ? !Kept : one > other;
    larger |= (first ? one : other) << shift;
  }
  return larger;
}

template <class IN>
DIECAST_DEVICE void codes_of(const Block16<IN>& block, f32 factor, u32* codes) {
  for (int i = 0; i < Block16<IN>::kWords; i += kVectorLanes) {
    u8* const to = reinterpret_cast<u8*>(codes) + i * 16 / bits<IN>();
    const Lanes lanes = load_lanes(block.words + i);
    if constexpr (bits<IN>() == 32) {
      store_pairs(codes_of_lanes((FloatLanes)lanes, factor), to);
    } else {
      store_pairs(codes_of_lanes(half_of_lanes<IN>(lanes, false), factor), codes_of_lanes(half_of_lanes<IN>(lanes, true), factor),
                  to);
    }
  }
}

}  // namespace diecast

#endif
