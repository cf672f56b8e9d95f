// One direction of a tile of a matrix, whose blocks of 16 become E2M1 codes and E4M3 scales: what there is
// of it, where a block is written, and blocks along the columns until whole lines are written.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/stochastic.h>
#include <diecast/device/groups/group.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/scales/scale_layout.h>

namespace diecast {

// Rows of a tile, by 16; it begins where a tile of any scale layout does.
inline constexpr int kTileRows = 128, kStripes = kTileRows / 16;

// Lines of the tile, blocks of its lines. Squares: an amax that is given is that of a 16x16 block.
template <int LayoutId, bool Squares, bool RowScale, bool Stochastic>
struct TileOutput : Randomness<Stochastic> {
  static constexpr int kLayout = LayoutId;
  using Layout = ScaleLayout<LayoutId>;
  u32 line_blocks;    // of the matrix, of whose codes a line has 8 bytes each
  int lines, blocks;  // that the matrix has of the tile
  int padded_lines;   // of which scales are written
  const f32* amax;    // RowScale: of the tile's first line
  u8* codes;          // of the tile's first block
  e4m3* scales;
  i64 pitch;              // of the scales' layout
  const f32* block_amax;  // where it is given: of every block, of a square once

  // The tile begins at line `line` and block `block`, of `of_blocks` a line; it has `in_lines` of `in_line` elements, and
  // what the layout has below the matrix unless there are `more` lines below the tile.
  DIECAST_DEVICE TileOutput(const i64* rng, const MemberSide& to, const f32* given, i64 of_blocks, i64 line, i64 block,
                            int in_lines, int in_line, bool of_columns, bool more = false)
      : Randomness<Stochastic>(randomness<Stochastic>(rng, line * of_blocks + block, of_columns)),
        line_blocks(static_cast<u32>(of_blocks)),
        lines(in_lines),
        blocks((in_line + 15) / 16),
        padded_lines(more ? in_lines : static_cast<int>(Layout::padded_rows(line + in_lines) - line)),
        amax(reinterpret_cast<const f32*>(to.amax) + (RowScale ? line : 0)),
        codes(reinterpret_cast<u8*>(to.data) + 8 * (line * of_blocks + block)),
        pitch(LayoutId == 0 ? to.scale_stride : Layout::padded_cols(of_blocks)),
        block_amax(given + (Squares ? line / 16 : line) * of_blocks + block) {
    scales = reinterpret_cast<e4m3*>(to.scale) + Layout::offset(line, block, pitch);
  }
  // Whether two blocks of codes that follow each other, the first an even one, may be written at once; four scales.
  DIECAST_DEVICE bool takes_two_codes() const { return line_blocks % 2 == 0 && reinterpret_cast<u64>(codes) % 16 == 0; }
  DIECAST_DEVICE bool takes_four_scales() const {
    return (reinterpret_cast<u64>(scales) | (LayoutId == 0 ? static_cast<u64>(pitch) : 0)) % 4 == 0;
  }
  DIECAST_DEVICE int padded_blocks() const { return (blocks + Layout::kTileCols - 1) & -Layout::kTileCols; }
  DIECAST_DEVICE i64 index(int line, int block) const { return u64{static_cast<u32>(line)} * line_blocks + block; }
  // Of a block in the tile, or beyond the matrix of one nearby.
  DIECAST_DEVICE f32 amax_of_line(int line) const { return amax[min(line, lines - 1)]; }
  DIECAST_DEVICE f32 amax_of_block(int line, int block) const {
    line = min(line, lines - 1);
    return block_amax[index(Squares ? line / 16 : line, min(block, blocks - 1))];
  }
};

// Where a thread writes: a block of a tile, then blocks below it.
template <int LayoutId>
struct TilePlace {
  using Layout = ScaleLayout<LayoutId>;
  int line, block, lines_left, blocks_left;  // of the matrix from here on
  u8* codes;
  e4m3* scale;

  template <class Output>
  DIECAST_DEVICE TilePlace(const Output& out, int first, int at)
      : line(first),
        block(at),
        lines_left(out.lines - first),
        blocks_left(out.blocks - at),
        codes(out.codes + 8 * out.index(first, at)),
        scale(out.scales + Layout::offset(first, at, out.pitch)) {}
  template <class Output>
  DIECAST_DEVICE i64 scale_below(const Output& out, int lines) const {
    return LayoutId == 0 ? lines * out.pitch : Layout::offset(line + lines, 0, out.pitch) - Layout::offset(line, 0, out.pitch);
  }
  // By a multiple of 4 blocks.
  template <class Output>
  DIECAST_DEVICE void go_right(const Output& out, int more) {
    codes += 8 * more, scale += Layout::offset(0, more, out.pitch), block += more, blocks_left -= more;
  }
  DIECAST_DEVICE bool has(int lines) const { return lines < lines_left && blocks_left > 0; }
  template <class Output>
  DIECAST_DEVICE void store_codes(const Output& out, const Vector<8>& block_codes, int lines = 0) const {
    if (has(lines)) store_streaming<8>(codes + 8 * out.index(lines, 0), block_codes);
  }
  // The block so many lines below, or where there is only padding a scale of zero.
  template <class Output>
  DIECAST_DEVICE void store(const Output& out, const Vector<8>& block_codes, e4m3 block_scale, int lines = 0) const {
    if (has(lines)) {
      store_streaming<8>(codes + 8 * out.index(lines, 0), block_codes);
      scale[scale_below(out, lines)] = block_scale;
    } else if (LayoutId != 0 && line + lines < out.padded_lines && block < out.padded_blocks()) {
      scale[scale_below(out, lines)] = {0};
    }
  }
};

// Codes of the columns' blocks of a tile, until whole lines of memory are written. Two neighbouring
// columns are a lane's: even ones lie before odd ones, so that lanes' places are in different banks.
template <int Lines>
struct TileColumns {
  static constexpr int kPitch = kStripes + 2, kToOdd = Lines / 2 * kPitch + kStripes;
  alignas(16) Vector<8> codes[Lines * kPitch + kStripes];

  DIECAST_DEVICE Vector<8>* at(int line, int stripe) { return codes + line / 2 * kPitch + line % 2 * kToOdd + stripe; }

  // To where they belong, neighbouring threads neighbouring blocks of a line, two each. All `Threads` of the block.
  template <int Threads, class Output>
  DIECAST_DEVICE void write(const Output& out) {
    constexpr int kStep = Threads / (kStripes / 2);
    const int thread = held_thread();
    const int first = thread / (kStripes / 2), block = thread % (kStripes / 2) * 2;
    const Vector<8>* from = at(first, block);
    u8* to = out.codes + 8 * out.index(first, block);
    const u64 step = 8 * out.index(kStep, 0);
    const bool two = out.takes_two_codes() && block + 1 < out.blocks;
    DIECAST_NO_UNROLL
    for (int line = first; line < out.lines; line += kStep, from += kStep / 2 * kPitch, to += step) {
      if (two) {
        store_streaming<16>(to, *reinterpret_cast<const Vector<16>*>(from));
      } else {
        if (block < out.blocks) store_streaming<8>(to, from[0]);
        if (block + 1 < out.blocks) store_streaming<8>(to + 8, from[1]);
      }
    }
  }
};

}  // namespace diecast
