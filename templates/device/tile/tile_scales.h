// The block scales of a tile in shared memory, until what the tile has of a sector of memory is written at
// once: the second-level cache takes pieces of sectors at a fraction of the rate of whole ones.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/scales/scale_layout.h>
#include <diecast/device/threads/cluster.h>
#include <diecast/device/tile/tile_output.h>

namespace diecast {

// Lines of so many blocks, a multiple of 4.
template <int Lines, int Blocks>
struct TileScales {
  static constexpr int kLines = Lines, kWords = Blocks / 4, kFours = Lines * kWords,
                       kShift = kWords == 4   ? 2
                                : kWords == 2 ? 1
                                              : 0,
                       kPitch = Blocks + 4;  // lines that follow each other in other banks
  alignas(4) e4m3 scales[Lines * kPitch];

  DIECAST_DEVICE e4m3* at(int line, int block) { return scales + line * kPitch + block; }
};

// All `Threads` of the thread block, behind a barrier: linear scales, `lines` lines of `blocks`, of which there may be 2^`shift`
// fours; `at_once` says whether four may be written so. Of a cluster: block `rank` has the first kStripes of a line, and the next
// ones the next.
template <int Threads, int Cluster>
DIECAST_DEVICE_CALL void write_linear(e4m3* to, i64 pitch, const e4m3* scales, int lines, int blocks, int shift, bool at_once,
                                      u32 rank) {
  const int word = at_once ? 4 : 5;  // scales that are written at once; a flag would double the loop
  DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < lines << shift; i += Threads) {
    const int line = i >> shift, block = (i & ((1 << shift) - 1)) * 4, has = min(blocks - block, 4);
    const e4m3* const from =
        Cluster == 1 ? scales + line * ((4 << shift) + 4) + block : scales + line * (kStripes + 4) + block % kStripes;
    u32 four = has > 0 ? load_of_cluster<Cluster>(from, rank + block / kStripes) : 0;
    e4m3* const at = to + line * pitch + block;
    if (has == word) {
      *reinterpret_cast<u32*>(at) = four;
    } else {
      DIECAST_NO_UNROLL
      for (int j = 0; j < has; ++j, four >>= 8) at[j] = {static_cast<u8>(four)};
    }
  }
}

// Those of a layout in tiles, of which there are `count` fours, 2^`shift` of them a line.
template <int Threads, class Output>
DIECAST_DEVICE void write_tiled(const Output& out, const e4m3* scales, int count, int shift) {
  constexpr int kGroup = Output::kLayout == LAYOUT_s128x4 ? 128 : 8;
  const bool at_once = out.takes_four_scales();
  DIECAST_NO_UNROLL
  for (int i = held_thread(); i < count; i += Threads) {
    const int nth = i % kGroup, group = i / kGroup;  // of the lines that a tile of the layout has, lie together
    const int line = (group >> shift) * kGroup + (Output::kLayout == LAYOUT_s128x4 ? nth % 4 * 32 + nth / 4 : nth),
              block = (group & ((1 << shift) - 1)) * 4;
    if (line >= out.padded_lines || block >= out.padded_blocks()) continue;
    const int has = line < out.lines ? min(out.blocks - block, 4) : 0;
    u32 four = *reinterpret_cast<const u32*>(scales + line * ((4 << shift) + 4) + block);
    four = has > 0 ? four & 0xFFFFFFFFu >> (32 - 8 * has) : 0;  // its padding is zeros
    e4m3* const to = out.scales + Output::Layout::offset(line, block, out.pitch);
    if (at_once) {
      *reinterpret_cast<u32*>(to) = four;
    } else {
      DIECAST_NO_UNROLL
      for (int j = 0; j < 4; ++j) to[j] = {static_cast<u8>(four >> 8 * j)};
    }
  }
}

// All of one side.
template <int Threads, class Output>
DIECAST_DEVICE void write_scales(const Output& out, const e4m3* scales, int count, int shift) {
  if constexpr (Output::kLayout == LAYOUT_linear) {
    write_linear<Threads, 1>(out.scales, out.pitch, scales, out.lines, out.blocks, shift, out.takes_four_scales(), 0);
  } else {
    write_tiled<Threads>(out, scales, count, shift);
  }
}
template <int Threads, class Output, class Scales>
DIECAST_DEVICE void write_scales(const Output& out, const Scales& of) {
  write_scales<Threads>(out, of.scales, Scales::kFours, Scales::kShift);
}

// Linear ones of columns, by a cluster whose tiles lie one below the other and have `blocks` of a line together: each thread block
// writes all of some lines. 0: they lie elsewhere, and each writes its own.
template <int Threads, int Cluster, class Output, class Scales>
DIECAST_DEVICE void write_scales_of_cluster(const Output& out, const Scales& of, int blocks) {
  static_assert(Output::kLayout == LAYOUT_linear && (4 << Scales::kShift) == kStripes &&
                Cluster <= 4);  // of which the half is the logarithm
  const u32 rank = cluster_rank<Cluster>();
  const bool together = blocks != 0;
  const int lines = Scales::kLines / (together ? Cluster : 1), first = together ? static_cast<int>(rank) * lines : 0;
  write_linear<Threads, Cluster>(out.scales + first * out.pitch - (together ? kStripes * rank : 0), out.pitch,
                                 of.scales + first * Scales::kPitch, min(out.lines - first, lines),
                                 together ? blocks : out.blocks, Scales::kShift + (together ? Cluster / 2 : 0),
                                 out.takes_four_scales(), together ? 0 : rank);
}

// Of a tile's both sides.
template <int Threads, class Output, class Across, class Down>
DIECAST_DEVICE void write_scales(const Output& across, const Output& down, const Across& of_rows, const Down& of_columns) {
  DIECAST_NO_UNROLL
  for (int side = 0; side < 2; ++side) {  // by the same code
    const Output out = side == 0 ? across : down;
    write_scales<Threads>(out, side == 0 ? of_rows.scales : of_columns.scales, side == 0 ? Across::kFours : Down::kFours,
                          side == 0 ? Across::kShift : Down::kShift);
  }
}

}  // namespace diecast
