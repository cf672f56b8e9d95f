// The block scales of a tile in shared memory, until what the tile has of a sector of memory is written at
// once: the second-level cache takes pieces of sectors at a fraction of the rate of whole ones.
#pragma once

#include <diecast/device/scale_layout.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// Lines of so many blocks, a multiple of 4.
template <int Lines, int Blocks>
struct TileScales {
  static constexpr int kWords = Blocks / 4, kPitch = Blocks + 4;  // lines that follow each other in other banks
  alignas(4) e4m3 scales[Lines * kPitch];

  DIECAST_DEVICE e4m3* at(int line, int block) { return scales + line * kPitch + block; }

  // All `Threads` of the block of threads, behind a barrier: four neighbouring scales each, in the order of memory.
  template <int Threads, class Output>
  DIECAST_DEVICE void write(const Output& out) {
    constexpr int kLayout = Output::kLayout, kGroup = kLayout == 1 ? 128 : kLayout == 2 ? 8 : 1;
    const int word = out.takes_four_scales() ? 4 : 5;  // scales that are written at once; a flag would double the loop
    int thread = threadIdx.x;
#if !DIECAST_HOST
    asm volatile("" : "+r"(thread));  // addresses are made here, and held in no register before
#endif
    const auto store = [&](e4m3* to, u32 four, int has) {
      if (has == word) {
        *reinterpret_cast<u32*>(to) = four;
      } else {
DIECAST_NO_UNROLL
        for (int j = 0; j < has; ++j) to[j] = {static_cast<u8>(four >> 8 * j)};
      }
    };
    if constexpr (kLayout == 0) {
      constexpr int kStep = Threads / kWords;
      const int block = thread % kWords * 4, has = min(out.blocks - block, 4);
      int line = thread / kWords;
      const e4m3* from = at(line, block);
      e4m3* to = out.scales + (line * out.pitch + block);
DIECAST_NO_UNROLL
      for (; line < out.lines; line += kStep, from += kStep * kPitch, to += kStep * out.pitch) {
        store(to, *reinterpret_cast<const u32*>(from), has);
      }
    } else {
DIECAST_NO_UNROLL
      for (int i = thread; i < Lines * kWords; i += Threads) {
        const int nth = i % kGroup, group = i / kGroup;  // of the lines that a tile of the layout has, lie together
        const int line = group / kWords * kGroup + (kLayout == 1 ? nth % 4 * 32 + nth / 4 : nth), block = group % kWords * 4;
        int has = line < out.lines ? min(out.blocks - block, 4) : 0;
        u32 four = *reinterpret_cast<const u32*>(at(line, block));
        four = has > 0 ? four & 0xFFFFFFFFu >> (32 - 8 * has) : 0;  // its padding is zeros
        has = line < out.padded_lines() && block < out.padded_blocks() ? 4 : 0;
        store(out.scales + Output::Layout::offset(line, block, out.pitch), four, has);
      }
    }
  }
};

}  // namespace diecast
