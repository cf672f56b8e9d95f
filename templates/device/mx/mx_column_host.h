// A 32x1 block of a column on the host: a thread goes down it twice.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>

#if DIECAST_HOST

namespace diecast {

// Elements `stride` apart, `count` of them in the matrix.
template <class MX, class IN>
struct MxColumn {
  DIECAST_DEVICE static u32 largest(const IN* from, i64 stride, i64 count) {
    u32 found = 0;
    for (int i = 0; i < 32 && i < count; ++i) found = max(found, MX::magnitude(from[i * stride]));
    return found;
  }

  // Codes to bytes `stride_to` apart, or packed, 16 bytes in a row, zeros where the matrix has nothing.
  DIECAST_DEVICE static void store(const IN* from, i64 stride, i64 count, f32 factor, u8* to, i64 stride_to) {
    if constexpr (MX::kFourBit) {
      for (int w = 0; w < 4; ++w) {
        u32 word = 0;
        for (int i = 0; i < 4; ++i) {
          const i64 row = 8 * w + 2 * i;
          const f32 low = row < count ? to_f32(from[row * stride]) : 0.0f;
          const f32 high = row + 1 < count ? to_f32(from[row * stride + stride]) : 0.0f;
          word |= e2m1x2_from_f32(__fmul_rn(low, factor), __fmul_rn(high, factor)) << (8 * i);
        }
        store_streaming<4>(to + 4 * w, {{word}});
      }
    } else {
      for (int i = 0; i < 32 && i < count; ++i) {
        to[i * stride_to] = static_cast<u8>(MX::byte(__fmul_rn(to_f32(from[i * stride]), factor)));
      }
    }
  }
};

}  // namespace diecast

#endif
