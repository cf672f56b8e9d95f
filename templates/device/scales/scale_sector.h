// Thirty-two scales of a tiled layout that lie in one sector of memory: four neighbours in each of
// eight rows. Four neighbouring lanes take a column each, row after row, and then write the sector as
// a whole; a warp that goes along a row writes four bytes in each of eight sectors.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/scales/scale_layout.h>

namespace diecast {

template <int Layout>
struct ScaleSector {
  // On the host a thread goes along a row.
  static constexpr bool kUsed = Layout != LAYOUT_linear && !DIECAST_HOST;
  static constexpr u32 kRows = 8;

  u32 low = 0, high = 0;  // the lane's column, the first row in the lowest byte

  // Row `nth` of the sectors that lie `sector`-th in their column of tiles. Two rows that follow each
  // other here are four rows apart in the sector, so that a lane writes what lies together.
  DIECAST_DEVICE static i64 row(i64 sector, u32 nth) {
    const u32 word = nth % 4 * 2 + nth / 4;  // of the sector, four bytes each
    if constexpr (Layout == LAYOUT_s8x4) return sector * kRows + word;
    return (sector >> 4) * 128 + ((sector & 15) * 2 + word / 4 + word % 4 * 32);
  }

  // All rows one after another.
  DIECAST_DEVICE void put(e4m3 scale) {
    low = __byte_perm(low, high, 0x4321);
    high = __byte_perm(high, scale.bits, 0x4321);
  }

  // What was put last.
  DIECAST_DEVICE e4m3 last() const { return {static_cast<u8>(high >> 24)}; }

  // `first`: where the sector begins. All four lanes come here together.
  DIECAST_DEVICE void store(e4m3* first) const {
    const u32 lane = threadIdx.x & 3, quad = 15u << (threadIdx.x & 28);
    const auto transposed = [&](u32 word) {
      const u32 far = __shfl_xor_sync(quad, word, 2);
      word = __byte_perm(word, far, lane & 2 ? 0x3276 : 0x5410);
      const u32 near = __shfl_xor_sync(quad, word, 1);
      return __byte_perm(word, near, lane & 1 ? 0x3715 : 0x6240);
    };
    const u32 even = transposed(low), odd = transposed(high);
    store_streaming<8>(reinterpret_cast<u8*>(first) + 8 * lane, {{even, odd}});
  }
};

}  // namespace diecast
