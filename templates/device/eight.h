// Eight neighbouring elements in registers, packed as memory has them: loaded and stored in pieces of
// 16 bytes where they are `Whole` and aligned, else one by one, `count` of them.
#pragma once

#include <diecast/device/convert.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>
#include <diecast/device/vector.h>

namespace diecast {

template <class T>
struct Eight {
  static constexpr int kPerWord = 32 / bits<T>();
  u32 words[8 / kPerWord] = {};

  DIECAST_DEVICE f32 element(int i) const {
    return to_f32(from_bits<T>(words[i / kPerWord] >> (i % kPerWord * bits<T>())));
  }
  // Into a place that holds zeros.
  DIECAST_DEVICE void set(int i, f32 value) {
    words[i / kPerWord] |= to_bits(from_f32<T>(value)) << (i % kPerWord * bits<T>());
  }

  template <bool Whole>
  DIECAST_DEVICE void load(const T* from, i64 count) {
    if constexpr (Whole) {
DIECAST_UNROLL
      for (int v = 0; v < 2 / kPerWord; ++v) {
        const Vector<16> loaded = load_streaming<16>(from + 4 * v);
DIECAST_UNROLL
        for (int w = 0; w < 4; ++w) words[4 * v + w] = loaded.words[w];
      }
    } else {
DIECAST_UNROLL
      for (int i = 0; i < 8; ++i) {
        if (i < count) words[i / kPerWord] |= to_bits(from[i]) << (i % kPerWord * bits<T>());
      }
    }
  }

  template <bool Whole>
  DIECAST_DEVICE void store(T* to, i64 count) const {
    if constexpr (Whole) {
DIECAST_UNROLL
      for (int v = 0; v < 2 / kPerWord; ++v) {
        store_streaming<16>(to + 4 * v, {{words[4 * v], words[4 * v + 1], words[4 * v + 2],
                                          words[4 * v + 3]}});
      }
    } else {
      store_down(to, 1, count);
    }
  }
  // One by one, `stride` elements apart.
  DIECAST_DEVICE void store_down(T* to, i64 stride, i64 count) const {
DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      const u32 word = words[i / kPerWord] >> (i % kPerWord * bits<T>());
      if (i < count) to[i * stride] = from_bits<T>(word);
    }
  }
};

}  // namespace diecast
