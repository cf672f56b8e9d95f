// A tile of elements of 16 bits by pieces that a warp takes: 16 rows and 64 columns, turned in shared memory, or of rows
// alone 128 columns, which stay in registers. A lane quantizes two blocks of a side at a time.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/groups/group.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/nvfp4_square.h>
#include <diecast/device/nvfp4/ordinary_codes.h>
#include <diecast/device/tile/tile_output.h>
#include <diecast/device/tile/tile_scales.h>

namespace diecast {

// All `Threads` of the thread block. The matrix has the tile at `x`, rows `stride` elements apart. Way: the sides, and
// what a template makes of two blocks, and of rows alone how many
// times 256 columns the tile has. Of both sides find() makes the global scales, while copies are on their way.
template <class Way, int Threads, class IN, class Output, class Columns, class ScalesAcross, class ScalesDown, class Global,
          class Find, class Piece>
DIECAST_DEVICE void quantize_pieces(const IN* x, i64 stride, const Output& across, const Output& down, Columns& columns,
                                    ScalesAcross& scales_across, ScalesDown& scales_down, const Global& of_rows,
                                    const Global& of_columns, const Find& find, const Piece& piece) {
  using Element = typename LoadedElement<IN>::Type;
  constexpr int kCols = 256, kRowLanes = Way::kColumnwise ? 4 : 8;  // lanes of a row of a piece
  constexpr int kOwn = kRowLanes / 2, kApart = 32 / kRowLanes;      // a lane's blocks, the rows from one to the next
  const int lane = threadIdx.x % 32;
  DIECAST_NO_UNROLL
  for (int unit = threadIdx.x / 32; unit < kStripes * Way::kParts; unit += Threads / 32) {
    const int stripe = unit / Way::kParts, part_col = unit % Way::kParts * kCols;
    if (16 * stripe >= (Way::kRowwise ? across.padded_lines : across.lines)) break;
    const int at_row = 16 * stripe + (Way::kColumnwise ? Piece::lane_row() : lane / kRowLanes);
    const int at_col = Way::kColumnwise ? Piece::lane_col() : part_col + lane % kRowLanes * 16;
    const IN* at_x = x + at_row * stride + at_col;
    const int has_rows = across.lines - at_row;
    int has_cols = down.lines - at_col;
    TilePlace<Output::kLayout> to(across, 16 * stripe + lane / kRowLanes, part_col / 16 + lane % kRowLanes);
    Vector<8>* codes_to = columns.at(2 * lane, stripe);
    e4m3* scale_to = scales_down.at(2 * lane, stripe);
    e4m3* scale_across_to = scales_across.at(16 * stripe + lane / kRowLanes, lane % kRowLanes);
    if constexpr (Way::kColumnwise) {
      piece.begin(at_x, stride, has_rows, has_cols);
      if constexpr (Way::kRowwise) find();  // while that is on its way
    }
    DIECAST_NO_UNROLL
    for (int left = 0; left < kCols; left += 16 * kRowLanes) {
      if constexpr (Way::kColumnwise) piece.wait();
      if constexpr (Way::kRowwise) {
        const auto own = [&](int i) {
          TwoBlocks<Element> two;
          if constexpr (Way::kColumnwise) {
            piece.across(two.blocks);
          } else {
            Piece::template load<kApart>(at_x + i * kApart * stride, stride, has_rows - i * kApart, has_cols, two.blocks);
          }
          return two;
        };
        Square square = {};
        if constexpr (Way::kSquare) square = ordinary_square<typename Way::Recipe, kRowLanes, kOwn>(own);
        DIECAST_NO_UNROLL
        for (int i = 0; i < kOwn; i += 2) {
          Way::template quantize_two<Way::kTransformsRows>(own(i), square, of_rows, [&](int j, const Nvfp4Block& block) {
            const Vector<8> block_codes = {{block.codes[0], block.codes[1]}};
            if constexpr (Way::kColumnwise) {
              to.store_codes(across, block_codes, (i + j) * kApart);
              scale_across_to[(i + j) * kApart * scales_across.kPitch] = block.scale;
            } else {
              to.store(across, block_codes, block.scale, (i + j) * kApart);
            }
          });
        }
        to.go_right(across, kRowLanes);
        scale_across_to += kRowLanes;
      }
      at_x += 16 * kRowLanes, has_cols -= 16 * kRowLanes;
      if constexpr (Way::kColumnwise) {
        TwoColumns<Element> two;
        piece.down(two.words);
        Square square = {};
        if constexpr (Way::kSquare) square = ordinary_square<typename Way::Recipe, 0, 2>([&](int) { return two; });
        if (left + 64 < kCols) piece.begin(at_x, stride, has_rows, has_cols);
        Way::template quantize_two<Way::kTransformsColumns>(two, square, of_columns, [&](int i, const Nvfp4Block& block) {
          codes_to[i * columns.kToOdd] = {{block.codes[0], block.codes[1]}};
          scale_to[i * scales_down.kPitch] = block.scale;
        });
      }
      codes_to += 32 * columns.kPitch, scale_to += 64 * scales_down.kPitch;
    }
  }
  if constexpr (Way::kColumnwise) {
    __syncthreads();
    columns.template write<Threads>(down);
    if constexpr (Way::kRowwise) {
      write_scales<Threads>(across, down, scales_across, scales_down);
    } else {
      write_scales<Threads>(down, scales_down);
    }
    __syncthreads();
  }
}

}  // namespace diecast
