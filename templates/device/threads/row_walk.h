// One thread's way through many like pieces. On a GPU it takes every `walkers`-th, so that threads
// side by side read what lies side by side; on the host, where threads run one after another, a
// stretch of its own, so that memory is read in order.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>

namespace diecast {

// for (const Share at(pieces, thread, threads); ...) from `first`, before `last`.
struct Share {
  i64 first, last;
  u32 step;

  DIECAST_DEVICE Share(i64 pieces, u32 walker, u32 walkers) : first(walker), last(pieces), step(walkers) {
    if constexpr (DIECAST_HOST) {
      const i64 each = ceil_div(pieces, walkers);
      first = min(each * walker, pieces);
      last = min(first + each, pieces);
      step = 1;
    }
  }
};

#if !DIECAST_HOST
// Quotients and remainders of two numbers by one, anything where that is 0. As a compiler divides, but the inverse is found once
// for both: 2^32 / n from an approximate reciprocal, a little too small, and one Newton step; a quotient is then at most two
// too small.
struct TwoQuotients {
  u32 first, first_left, second, second_left;

  DIECAST_DEVICE TwoQuotients(u32 a, u32 b, u32 n) {
#define DIECAST_ONE_MORE(quotient, left) \
  " setp.ge.u32 p, " left ", %6;\n@p sub.u32 " left ", " left ", %6;\n@p add.u32 " quotient ", " quotient ", 1;\n"
#define DIECAST_DIVIDE(quotient, left, of)                                \
  " mul.hi.u32 " quotient ", i, " of ";\n mul.lo.u32 " left ", " quotient \
  ", %6;\n"                                                               \
  " sub.u32 " left ", " of ", " left ";\n" DIECAST_ONE_MORE(quotient, left) DIECAST_ONE_MORE(quotient, left)
    asm("{\n .reg .b32 i, r;\n .reg .pred p;\n cvt.rp.f32.u32 i, %6;\n rcp.approx.ftz.f32 i, i;\n"
        " add.u32 i, i, 0x0FFFFFFE;\n cvt.rzi.u32.f32 i, i;\n"
        " mul.lo.u32 r, i, %6;\n neg.s32 r, r;\n mul.hi.u32 r, r, i;\n add.u32 i, i, r;\n" DIECAST_DIVIDE("%0", "%1", "%4")
            DIECAST_DIVIDE("%2", "%3", "%5") "}"
        : "=&r"(first), "=&r"(first_left), "=&r"(second), "=&r"(second_left)
        : "r"(a), "r"(b), "r"(n));
#undef DIECAST_DIVIDE
#undef DIECAST_ONE_MORE
  }
};
#endif

// Pieces of a matrix's rows (blocks of 16, spans of a warp), each as its row and its place in the row:
// one division of 32-bit numbers at the start instead of one of 64-bit numbers a piece. The walk is
// over when `row` is no row or `index` no piece any more.
struct RowWalk {
  i64 index;       // of the piece in the whole matrix
  i64 row, piece;  // its row, its place there
  i64 row_pieces;  // pieces a row
  i64 rows, last;  // host: rows in all, the end of the stretch
  u32 step, row_step, piece_step;

  // `step` is the number of walkers, so both fit 32 bits. `known`: pieces_a_row is compiled in.
  DIECAST_DEVICE RowWalk(i64 pieces_a_row, i64 all_rows, u32 walker, u32 walkers, bool known = false)
      : index(walker), row_pieces(pieces_a_row), rows(all_rows), step(walkers) {
#if DIECAST_HOST
    const Share share(all_rows * pieces_a_row, walker, walkers);
    index = share.first, last = share.last;
    row = index < last ? index / pieces_a_row : all_rows;
    piece = index < last ? index - row * pieces_a_row : 0;
#else
    const u32 n = pieces_a_row < 0xFFFFFFFFll ? static_cast<u32>(pieces_a_row) : 0xFFFFFFFFu;
    if (known && n != 0) {  // a compiler multiplies
      row = walker / n, piece = walker - row * n;
      row_step = walkers / n, piece_step = walkers - row_step * n;
    } else {
      const TwoQuotients by(walker, walkers, n);
      row = by.first, piece = by.first_left, row_step = by.second, piece_step = by.second_left;
    }
#endif
  }
  DIECAST_DEVICE void next() {
#if DIECAST_HOST
    if (++index == last)
      index = rows * row_pieces, row = rows;
    else if (++piece == row_pieces)
      piece = 0, ++row;
#else  // the optimizer takes long to find out that it can do nothing with these
    asm("{\n .reg .pred p;\n add.s64 %0, %0, %3;\n add.s64 %1, %1, %4;\n add.s64 %2, %2, %5;\n setp.ge.s64 p, %2, %6;\n"
        "@p sub.s64 %2, %2, %6;\n@p add.s64 %1, %1, 1;\n}"
        : "+&l"(index), "+&l"(row), "+&l"(piece)
        : "l"(u64{step}), "l"(u64{row_step}), "l"(u64{piece_step}), "l"(row_pieces));
#endif
  }
};

}  // namespace diecast
