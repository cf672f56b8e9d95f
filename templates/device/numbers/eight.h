// Eight (or N, a word's or more) neighbouring elements in registers, packed as memory has them: loaded and
// stored in pieces of up to 16 bytes where they are `Whole` and aligned, else one by one, `count` of
// them.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/pairs.h>

namespace diecast {

template <class T, int N>
struct Neighbours {
  static constexpr int kPerWord = 32 / bits<T>();
  static constexpr int kWords = N / kPerWord, kAtOnce = kWords < 4 ? kWords : 4;
  // Loads of neighbouring lanes share 32-byte sectors: the first-level cache must hold them for a moment.
  static constexpr bool kShared = kWords > kAtOnce;
  u32 words[kWords] = {};

  DIECAST_DEVICE f32 element(int i) const { return to_f32(from_bits<T>(words[i / kPerWord] >> (i % kPerWord * bits<T>()))); }
  // Into a place that holds zeros.
  DIECAST_DEVICE void set(int i, f32 value) { words[i / kPerWord] |= to_bits(from_f32<T>(value)) << (i % kPerWord * bits<T>()); }

  // Elements i, an even one, and i + 1: with one instruction where there is one.
  DIECAST_DEVICE void set_two(int i, f32 low, f32 high) {
#if !DIECAST_HOST
    if constexpr (bits<T>() == 16) {
      words[i / 2] = pair_from_f32<T>(low, high);
      return;
    }
#endif
    set(i, low), set(i + 1, high);
  }

  template <bool Whole>
  DIECAST_DEVICE void load(const T* from, i64 count) {
    if constexpr (Whole) {
      DIECAST_UNROLL
      for (int v = 0; v < kWords; v += kAtOnce) {
        const T* at = from + v * kPerWord;
        const Vector<4 * kAtOnce> loaded = kShared ? diecast::load<4 * kAtOnce>(at) : load_streaming<4 * kAtOnce>(at);
        DIECAST_UNROLL
        for (int w = 0; w < kAtOnce; ++w) words[v + w] = loaded.words[w];
      }
    } else {
      DIECAST_UNROLL
      for (int i = 0; i < N; ++i) {
        if (i < count) words[i / kPerWord] |= to_bits(from[i]) << (i % kPerWord * bits<T>());
      }
    }
  }

  template <bool Whole>
  DIECAST_DEVICE void store(T* to, i64 count) const {
    if constexpr (Whole) {
      DIECAST_UNROLL
      for (int v = 0; v < kWords; v += kAtOnce) {
        Vector<4 * kAtOnce> stored;
        DIECAST_UNROLL
        for (int w = 0; w < kAtOnce; ++w) stored.words[w] = words[v + w];
        store_streaming<4 * kAtOnce>(to + v * kPerWord, stored);
      }
    } else {
      store_down(to, 1, count);
    }
  }
  // One by one, `stride` elements apart.
  DIECAST_DEVICE void store_down(T* to, i64 stride, i64 count) const {
    DIECAST_UNROLL
    for (int i = 0; i < N; ++i) {
      const u32 word = words[i / kPerWord] >> (i % kPerWord * bits<T>());
      if (i < count) to[i * stride] = from_bits<T>(word);
    }
  }
};

template <class T>
using Eight = Neighbours<T, 8>;

}  // namespace diecast
