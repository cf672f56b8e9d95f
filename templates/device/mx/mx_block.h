// One 1x32 block of a row in one thread's hands, or half of it in each of two neighbours': loaded, its
// largest magnitude found, and written as codes in pieces of 16 bytes or, where rows allow none, byte by
// byte.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/block16.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/mx/mx.h>

namespace diecast {

template <int Bytes>
DIECAST_DEVICE bool is_aligned(const void* at) {
  return reinterpret_cast<u64>(at) % Bytes == 0;
}

// `Whole`: a row is whole pieces of so many elements, 16 or 32, and they and their FP8 codes lie from a
// multiple of 16 bytes on; 0: nothing is known. Lanes: 1, or 2 neighbours of a warp, of which each has
// 16 elements.
template <class MX, class IN, int Whole, int Lanes = 1>
struct MxBlock {
  static constexpr int kHalves = 2 / Lanes, kElements = 32 / Lanes;
  Block16<IN> halves[kHalves] = {};

  DIECAST_DEVICE MxBlock() {}  // zeros

  // `count`: elements left in the row.
  DIECAST_DEVICE MxBlock(const IN* from, i64 count) {
    DIECAST_UNROLL
    for (int i = 0; i < kHalves; ++i) {
      const i64 left = count - 16 * i;
      if (Whole == 32 || (Whole == 16 ? left > 0 : left >= 16 && is_aligned<16>(from))) {
        halves[i] = load_block16(from + 16 * i);
      } else if (Whole == 0 && left > 0) {
        halves[i] = load_block16_elements(from + 16 * i, left);
      }
    }
  }

  // Of what the lane has.
  DIECAST_DEVICE u32 own_largest() const {
    u32 found = MX::template largest<IN>(halves[0]);
    if constexpr (Lanes == 1) found = max(found, MX::template largest<IN>(halves[1]));
    return found;
  }
  // Of the whole block: where two lanes share it, both take part.
  DIECAST_DEVICE u32 largest() const {
    u32 found = own_largest();
    if constexpr (Lanes == 2) {
      found = max(found, __shfl_xor_sync(3u << (threadIdx.x & 30), found, 1));
    }
    return found;
  }

  DIECAST_DEVICE void store(u8* to, i64 count, f32 factor) const {
    constexpr int kWords = kHalves * MX::kWords, kAtOnce = kWords < 4 ? kWords : 4;
    u32 words[kWords];
    DIECAST_UNROLL
    for (int i = 0; i < kHalves; ++i) MX::template encode<IN>(halves[i], factor, words + i * MX::kWords);
    if (Whole != 0 || MX::kFourBit || (count >= kElements && is_aligned<4 * kAtOnce>(to))) {
      DIECAST_UNROLL
      for (int i = 0; i < kWords; i += kAtOnce) {
        if (Whole == 16 && !MX::kFourBit && 4 * i >= count) break;  // a half that is not there
        Vector<4 * kAtOnce> piece;
        DIECAST_UNROLL
        for (int w = 0; w < kAtOnce; ++w) piece.words[w] = words[i + w];
        store_streaming<4 * kAtOnce>(to + 4 * i, piece);
      }
    } else {
      DIECAST_UNROLL
      for (int w = 0; w < kWords; ++w) {
        u32 word = words[w];
        DIECAST_NO_UNROLL
        for (int i = 4 * w; i < 4 * w + 4 && i < count; ++i, word >>= 8) to[i] = static_cast<u8>(word);
      }
    }
  }
};

}  // namespace diecast
