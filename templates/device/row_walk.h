// One thread's way through many like pieces. On a GPU it takes every `walkers`-th, so that threads
// side by side read what lies side by side; on the host, where threads run one after another, a
// stretch of its own, so that memory is read in order.
#pragma once

#include <diecast/device/simt.h>
#include <diecast/device/types.h>

namespace diecast {

// for (const Share at(pieces, thread, threads); ...) from `first`, before `last`.
struct Share {
  i64 first, last;
  u32 step;

  DIECAST_DEVICE Share(i64 pieces, u32 walker, u32 walkers)
      : first(walker), last(pieces), step(walkers) {
    if constexpr (DIECAST_HOST) {
      const i64 each = ceil_div(pieces, walkers);
      first = min(each * walker, pieces);
      last = min(first + each, pieces);
      step = 1;
    }
  }
};

// Pieces of a matrix's rows (blocks of 16, spans of a warp), each as its row and its place in the row:
// one division of 32-bit numbers at the start instead of one of 64-bit numbers a piece. The walk is
// over when `row` is no row or `index` no piece any more.
struct RowWalk {
  i64 index;           // of the piece in the whole matrix
  i64 row, piece;      // its row, its place there
  i64 row_pieces;      // pieces a row
  i64 rows, last;      // host: rows in all, the end of the stretch
  u32 step, row_step, piece_step;

  // `step` is the number of walkers, so both fit 32 bits.
  DIECAST_DEVICE RowWalk(i64 pieces_a_row, i64 all_rows, u32 walker, u32 walkers)
      : index(walker), row_pieces(pieces_a_row), rows(all_rows), step(walkers) {
    if constexpr (DIECAST_HOST) {
      const Share share(all_rows * pieces_a_row, walker, walkers);
      index = share.first, last = share.last;
      row = index < last ? index / pieces_a_row : all_rows;
      piece = index < last ? index - row * pieces_a_row : 0;
    } else {
      const u32 n = pieces_a_row < 0xFFFFFFFFll ? static_cast<u32>(pieces_a_row) : 0xFFFFFFFFu;
      row = n == 0 ? 0 : walker / n;
      piece = walker - row * n;
      row_step = n == 0 ? 0 : walkers / n;
      piece_step = walkers - row_step * n;
    }
  }
  DIECAST_DEVICE void next() {
    if constexpr (DIECAST_HOST) {
      if (++index == last) index = rows * row_pieces, row = rows;
      else if (++piece == row_pieces) piece = 0, ++row;
    } else {
      index += step;
      row += row_step;
      piece += piece_step;
      if (piece >= row_pieces) {
        piece -= row_pieces;
        ++row;
      }
    }
  }
};

}  // namespace diecast
