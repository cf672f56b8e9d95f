// One 1x32 block of a row in one thread's hands: loaded, its largest magnitude found, and written as
// codes in pieces of 16 bytes or, where nothing is known of the rows, byte by byte.
#pragma once

#include <diecast/device/block16.h>
#include <diecast/device/mx.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>
#include <diecast/device/vector.h>

namespace diecast {

// `Aligned`: whole blocks, the elements and the FP8 codes from a multiple of 16 bytes on.
template <class MX, class IN, bool Aligned>
struct MxBlock {
  Block16<IN> halves[2] = {};

  DIECAST_DEVICE MxBlock() {}  // zeros

  // `count`: elements left in the row.
  DIECAST_DEVICE MxBlock(const IN* from, i64 count) {
    if constexpr (Aligned) {
      halves[0] = load_block16(from);
      halves[1] = load_block16(from + 16);
    } else {
      halves[0] = load_block16_elements(from, count);
      halves[1] = load_block16_elements(from + 16, count - 16);
    }
  }

  DIECAST_DEVICE u32 largest() const {
    return max(MX::template largest<IN>(halves[0]), MX::template largest<IN>(halves[1]));
  }

  DIECAST_DEVICE void store(u8* to, i64 count, f32 factor) const {
    u32 words[2 * MX::kWords];
    MX::template encode<IN>(halves[0], factor, words);
    MX::template encode<IN>(halves[1], factor, words + MX::kWords);
    if constexpr (Aligned || MX::kFourBit) {
DIECAST_UNROLL
      for (int i = 0; i < 2 * MX::kWords; i += 4) {
        store_streaming<16>(to + 4 * i, {{words[i], words[i + 1], words[i + 2], words[i + 3]}});
      }
    } else {
DIECAST_UNROLL
      for (int w = 0; w < 8; ++w) {
        u32 word = words[w];
DIECAST_NO_UNROLL
        for (int i = 4 * w; i < 4 * w + 4; ++i, word >>= 8) {
          if (i < count) to[i] = static_cast<u8>(word);
        }
      }
    }
  }
};

}  // namespace diecast
