// A side of a tile, quantized by one piece of code for either side, a block of 16 at a time, whatever a recipe makes of
// it: short to compile, for what is seldom. Codes and scales are staged until lines of memory are written.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/blocks/square16.h>
#include <diecast/device/memory/shared_place.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/nvfp4.h>
#include <diecast/device/tile/tile_output.h>

namespace diecast {

// Either side of a tile of so many columns: 128 lines, or as many as there are columns.
template <int Cols>
struct TileSide {
  static constexpr int kBlocks = kStripes * Cols, kLines = Cols > kTileRows ? Cols : kTileRows;
  alignas(16) Vector<8> codes[kBlocks + 2 * kLines];
  alignas(4) e4m3 scales[kBlocks + 4 * kLines];

  // 2^`shift` blocks a line.
  DIECAST_DEVICE void put(int line, int block, int shift, const Nvfp4Block& what) {
    codes[line * ((1 << shift) + 2) + block] = {{what.codes[0], what.codes[1]}};
    scales[line * ((1 << shift) + 4) + block] = what.scale;
  }
  // To where they belong, neighbouring threads neighbouring blocks of a line. All `Threads` of the thread block.
  template <int Threads, class Output>
  DIECAST_DEVICE void write(const Output& out, int shift) {
    DIECAST_NO_UNROLL
    for (int i = held_thread(); i < kBlocks; i += Threads) {
      const int line = i >> shift, block = i & ((1 << shift) - 1);
      const bool has = line < out.lines && block < out.blocks;
      if (has) store_streaming<8>(out.codes + 8 * out.index(line, block), codes[i + 2 * line]);
      if (line < out.padded_lines && block < out.padded_blocks()) {
        out.scales[Output::Layout::offset(line, block, out.pitch)] = has ? scales[i + 4 * line] : e4m3{0};
      }
    }
  }
};

// Side 0 (rows) or 1 (columns) of a tile that the matrix has `rows` x `cols` of, at `x`, to `out`, by all `Threads` of the
// thread block. Way: what a template makes of a block. Squares take passes: their amax, the errors of both scales of
// four over six, their codes.
template <class Way, int Threads, class Piece, class IN, int Cols, class Output, class Global>
DIECAST_DEVICE void quantize_side(int side, const IN* x, i64 stride, int rows, int cols, const Output& out, const Global& global,
                                  const Piece& piece, TileSide<Cols>& staged) {
  using Block = typename Piece::Block;
  constexpr int kLast = Way::kTries ? 3 : 1, kFirst = Way::kFindsSquares ? 0 : kLast;
  const int lane = threadIdx.x % 32, shift = side == 0 && Cols == 256 ? 4 : 3;  // of the blocks a line has
  // What is not transformed is the rows' transpose, and so are the sums of its errors.
  const bool transforms = side == 0 ? Way::kTransformsRows : Way::kTransformsColumns, turns = side == 1 && !transforms;
  DIECAST_NO_UNROLL
  for (int unit = threadIdx.x / 32; unit < (rows + 15) / 16 * (Cols / 64); unit += Threads / 32) {
    const int row = unit / (Cols / 64) * 16, left = unit % (Cols / 64) * 64;
    if (left >= cols) continue;
    const int at_row = row + Piece::lane_row(), at_col = left + Piece::lane_col();
    piece.begin(x + at_row * stride + at_col, stride, rows - at_row, cols - at_col);
    piece.wait();
    Square square = {0.0f, Way::kOrdinary};
    f32 error = 0.0f;
    bool takes_four = false;
    DIECAST_NO_UNROLL
    for (int pass = kFirst; pass <= kLast; ++pass) {
      const bool by_rows = side == 0 || (turns && pass != kLast);
      if (Way::kFindsSquares && turns && pass == kLast) {
        square.amax = __shfl_sync(0xFFFFFFFFu, square.amax, lane / 8);
        if (Way::kTries) takes_four = __shfl_sync(0xFFFFFFFFu, int{takes_four}, lane / 8) != 0;
      }
      f32 of_line = 0.0f, of_other = 0.0f;
      DIECAST_NO_UNROLL
      for (int i = 0; i < 2; ++i) {
        const Block block = Way::loaded(piece, by_rows, i, transforms);
        Nvfp4Block codes = {};
        of_line = of_other;
        if (Way::kTries && pass != 0)
          codes = Way::tried(block, square.amax, pass == kLast ? takes_four : pass == 2, global, of_other);
        if (pass == kLast) {
          const int line = side == 0 ? row + lane / 4 + 8 * i : left + 2 * lane + i,
                    at = side == 0 ? left / 16 + lane % 4 : row / 16;
          staged.put(line, at, shift, Way::quantized(block, square, global, out, line, at, codes));
        } else if (Way::kFindsSquares && pass == 0) {
          of_other = Way::amax(block, square.ordinary);
        }
      }
      if (Way::kFindsSquares && pass == 0) {
        square.amax = largest_of_square(of_line, of_other, by_rows);
        if (square.ordinary && __any_sync(0xFFFFFFFFu, square.amax != square.amax)) square.ordinary = false, --pass;
      } else if (Way::kTries && pass != kLast) {
        const f32 error_six = error;
        error = sum_of_square(of_line, of_other, by_rows), takes_four = error < error_six;
      }
    }
  }
  __syncthreads();
  staged.template write<Threads>(out, shift);
  __syncthreads();
}

}  // namespace diecast
