// One thread's way through the pieces of a matrix's rows (blocks of 16, spans of a warp): piece
// `first`, then every `step`-th, each as its row and its place in the row. One division of 32-bit
// numbers at the start instead of one of 64-bit numbers a piece.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

struct RowWalk {
  i64 index;           // of the piece in the whole matrix
  i64 row, piece;      // its row, its place there
  i64 row_pieces;      // pieces a row
  u32 step, row_step, piece_step;

  // `step` is the number of walkers, so both fit 32 bits.
  DIECAST_DEVICE RowWalk(i64 pieces_a_row, u32 first, u32 walkers)
      : index(first), row_pieces(pieces_a_row), step(walkers) {
    const u32 n = pieces_a_row < 0xFFFFFFFFll ? static_cast<u32>(pieces_a_row) : 0xFFFFFFFFu;
    row = n == 0 ? 0 : first / n;
    piece = first - row * n;
    row_step = n == 0 ? 0 : walkers / n;
    piece_step = walkers - row_step * n;
  }
  DIECAST_DEVICE void next() {
    index += step;
    row += row_step;
    piece += piece_step;
    if (piece >= row_pieces) {
      piece -= row_pieces;
      ++row;
    }
  }
};

}  // namespace diecast
