// Sixteen block scales a thread: four words, each four neighbours of a row, of four rows that lie together
// in a tile. In every layout a word's scales are neighbours, so words alone change places.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/scales/scale_layout.h>

namespace diecast {

// The four rows are `Apart` from one to the next: 32, as tiles of 128 rows have them, or 1. Four threads
// side by side take rows that follow each other, eight such fours words that do: a warp reads and writes
// whole sectors of rows and of tiles.
template <int Apart>
struct ScaleSquare {
  static constexpr int kQuads = 4;   // neighbours of a warp that take rows which follow each other
  static constexpr int kAcross = 1;  // words of a row

  i64 row, col;
  u32 words[kAcross][4];

  template <int Layout>
  static constexpr bool kTogether = Layout != LAYOUT_linear && (Layout == LAYOUT_s128x4) == (Apart == 32);

  template <int Layout>
  DIECAST_DEVICE static bool fits(const void* data, i64 stride) {
    return reinterpret_cast<u64>(data) % (Layout == LAYOUT_linear ? 4 : 16) == 0 && stride % 4 == 0;
  }

  // Squares side by side in a matrix of so many scales a row, and bands of them in so many rows.
  DIECAST_DEVICE static i64 pieces(i64 cols) { return ceil_div(cols, 4 * kAcross) * kQuads; }
  DIECAST_DEVICE static i64 bands(i64 rows) { return ceil_div(align_up(rows, 4 * Apart), 4 * kQuads); }

  DIECAST_DEVICE ScaleSquare(i64 band, i64 piece) {
    const i64 quad = band * kQuads + piece % kQuads;
    row = (quad & -Apart) * 4 + (quad & (Apart - 1));
    col = piece / kQuads * (4 * kAcross);
  }

  // Zeros where the matrix, of so many rows and columns, has nothing.
  template <int Layout>
  DIECAST_DEVICE void read(const u8* from, i64 stride, i64 rows, i64 cols) {
    using Of = ScaleLayout<Layout>;
    DIECAST_UNROLL
    for (int j = 0; j < kAcross; ++j) {
      const bool there = col + 4 * j < cols;
      if (kTogether<Layout> && there && row + 3 * Apart < rows) {
        const Vector<16> four = load_streaming<16>(from + Of::offset(row, col + 4 * j, stride));
        DIECAST_UNROLL
        for (int i = 0; i < 4; ++i) words[j][i] = four.words[i];
      } else {
        DIECAST_UNROLL
        for (int i = 0; i < 4; ++i) {
          words[j][i] = 0;
          if (there && row + Apart * i < rows) {
            words[j][i] = load<4>(from + Of::offset(row + Apart * i, col + 4 * j, stride)).words[0];
          }
        }
      }
    }
  }

  // Words of the matrix; padding stays zeros.
  template <class Change>
  DIECAST_DEVICE void change(i64 rows, i64 cols, const Change& change) {
    DIECAST_UNROLL
    for (int i = 0; i < 4 * kAcross; ++i) {
      u32& word = words[i / 4][i % 4];
      if (row + Apart * (i % 4) < rows && col + 4 * (i / 4) < cols) word = change(word);
    }
  }

  // `rows` and `cols` with the layout's padding.
  template <int Layout>
  DIECAST_DEVICE void write(u8* to, i64 stride, i64 rows, i64 cols) const {
    using Of = ScaleLayout<Layout>;
    DIECAST_UNROLL
    for (int j = 0; j < kAcross; ++j) {
      if (col + 4 * j >= cols) break;
      if constexpr (kTogether<Layout>) {
        if (row < rows) {
          store_streaming<16>(to + Of::offset(row, col + 4 * j, stride), {{words[j][0], words[j][1], words[j][2], words[j][3]}});
        }
      } else {
        DIECAST_UNROLL
        for (int i = 0; i < 4; ++i) {
          if (row + Apart * i < rows) {
            store_streaming<4>(to + Of::offset(row + Apart * i, col + 4 * j, stride), {{words[j][i]}});
          }
        }
      }
    }
  }
};

}  // namespace diecast
