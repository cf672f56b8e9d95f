// The block scales of a tile in shared memory, until what the tile has of a sector of memory is written at
// once: the second-level cache takes pieces of sectors at a fraction of the rate of whole ones.
#pragma once

#include <diecast/device/scale_layout.h>
#include <diecast/device/shared_place.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// Lines of so many blocks, a multiple of 4.
template <int Lines, int Blocks>
struct TileScales {
  static constexpr int kWords = Blocks / 4, kShift = kWords == 4 ? 2 : kWords == 2 ? 1 : 0, kPitch = Blocks + 4;  // lines that follow each other in other banks
  alignas(4) e4m3 scales[Lines * kPitch];

  DIECAST_DEVICE e4m3* at(int line, int block) { return scales + line * kPitch + block; }
};

// All `Threads` of the block of threads, behind a barrier: four neighbouring scales each, in the order of memory, of
// `count` such fours, 2^`shift` of them a line.
template <int Threads, class Output>
DIECAST_DEVICE void write_scales(const Output& out, const e4m3* scales, int count, int shift) {
  constexpr int kLayout = Output::kLayout, kGroup = kLayout == 1 ? 128 : kLayout == 2 ? 8 : 1;
  const int word = out.takes_four_scales() ? 4 : 5;  // scales that are written at once; a flag would double the loop
DIECAST_NO_UNROLL
  for (int i = held_thread(); i < count; i += Threads) {
    const int nth = i % kGroup, group = i / kGroup;  // of the lines that a tile of the layout has, lie together
    const int line = (group >> shift) * kGroup + (kLayout == 1 ? nth % 4 * 32 + nth / 4 : nth), block = (group & ((1 << shift) - 1)) * 4;
    int has = line < out.lines ? min(out.blocks - block, 4) : 0;
    u32 four = *reinterpret_cast<const u32*>(scales + line * ((4 << shift) + 4) + block);
    if constexpr (kLayout != 0) {
      four = has > 0 ? four & 0xFFFFFFFFu >> (32 - 8 * has) : 0;  // its padding is zeros
      has = line < out.padded_lines && block < out.padded_blocks() ? 4 : 0;
    }
    e4m3* to = out.scales + Output::Layout::offset(line, block, out.pitch);
    if (has == word) {
      *reinterpret_cast<u32*>(to) = four;
    } else {
DIECAST_NO_UNROLL
      for (int j = 0; j < has; ++j) to[j] = {static_cast<u8>(four >> 8 * j)};
    }
  }
}

// Of a tile's both sides, which have as many scales, by the same code.
template <int Threads, class Output, class Across, class Down>
DIECAST_DEVICE void write_scales(const Output& across, const Output& down, const Across& of_rows, const Down& of_columns) {
DIECAST_NO_UNROLL
  for (int side = 0; side < 2; ++side) {
    const Output out = side == 0 ? across : down;
    write_scales<Threads>(out, side == 0 ? of_rows.scales : of_columns.scales, sizeof of_rows.scales / Across::kPitch * Across::kWords,
                          side == 0 ? Across::kShift : Down::kShift);
  }
}

}  // namespace diecast
