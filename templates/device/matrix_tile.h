// A tile of 128 rows and 64 columns of a matrix in shared memory, zeros beyond the matrix's edges:
// read once from memory, then taken apart into blocks of 16 neighbours along either side.
#pragma once

#include <diecast/device/block16_data.h>
#include <diecast/device/simt.h>
#include <diecast/device/types.h>
#include <diecast/device/vector.h>

namespace diecast {

inline constexpr int kTileRows = 128, kTileCols = 64;
inline constexpr int kTileBlocks = kTileRows * kTileCols / 16;  // of 16, along either side

// `Aligned`: rows are whole blocks of 16 and start at multiples of 16 bytes.
template <class IN, bool Aligned, int Threads>
struct MatrixTile {
  static constexpr int kPerWord = 32 / bits<IN>();
  // Four words more than a row has keep rows in different banks, and the words of a row change
  // places from one 16 rows to the next (a multiple of 4, so that vectors of 16 bytes stay whole):
  // blocks down a column that a warp reads together lie in different banks too.
  static constexpr int kPitch = kTileCols / kPerWord + 4;
  static constexpr int kWords = kTileRows * kPitch;

  u32* words;  // kWords of them, at a multiple of 16 bytes

  DIECAST_DEVICE static int place(int row, int word) {
    return row * kPitch + (word ^ (row / 16 * 4));
  }

  // The tile that begins at `x`, of which the matrix has `rows` x `cols` (at least 1, perhaps more
  // than a tile). All threads of the block; four pieces of each are under way at a time.
  DIECAST_DEVICE void load(const IN* x, i64 stride, i64 rows, i64 cols) const {
    constexpr int kPiece = Aligned ? 128 / bits<IN>() : 1;  // elements
    constexpr int kRowPieces = kTileCols / kPiece, kPieces = kTileRows * kRowPieces;
    using Piece = Vector<Aligned ? 16 : 4>;
    static_assert(kPieces % (4 * Threads) == 0, "every thread loads four pieces at a time");
DIECAST_NO_UNROLL
    for (int first = threadIdx.x; first < kPieces; first += 4 * Threads) {
      Piece pieces[4] = {};
DIECAST_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int row = (first + i * Threads) / kRowPieces;
        const int col = (first + i * Threads) % kRowPieces * kPiece;
        if (row >= rows || col >= cols) continue;
        if constexpr (Aligned) {
          pieces[i] = load_streaming<16>(x + row * stride + col);
        } else {
          pieces[i].words[0] = to_bits(x[row * stride + col]);
        }
      }
DIECAST_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int row = (first + i * Threads) / kRowPieces;
        const int col = (first + i * Threads) % kRowPieces * kPiece;
        u32* to = words + place(row, col / kPerWord);
        if constexpr (Aligned) {
          *reinterpret_cast<Piece*>(to) = pieces[i];
        } else if constexpr (kPerWord == 2) {
          reinterpret_cast<u16*>(to)[col % 2] = static_cast<u16>(pieces[i].words[0]);
        } else {
          *to = pieces[i].words[0];
        }
      }
    }
  }

  // Columns 16 * block .. 16 * block + 15 of a row.
  DIECAST_DEVICE Block16<IN> across(int row, int block) const {
    Block16<IN> out;
DIECAST_UNROLL
    for (int i = 0; i < Block16<IN>::kWords; i += 4) {
      const Vector<16> v =
          *reinterpret_cast<const Vector<16>*>(words + place(row, block * Block16<IN>::kWords + i));
DIECAST_UNROLL
      for (int j = 0; j < 4; ++j) out.words[i + j] = v.words[j];
    }
    return out;
  }

  // Rows 16 * block .. 16 * block + 15 of a column.
  DIECAST_DEVICE Block16<IN> down(int col, int block) const {
    Block16<IN> out = {};
    const u32* from = words + place(16 * block, col / kPerWord);
DIECAST_UNROLL
    for (int i = 0; i < 16; ++i) {
      if constexpr (kPerWord == 2) {
        const u32 element = reinterpret_cast<const u16*>(from + i * kPitch)[col % 2];
        out.words[i / 2] |= element << (i % 2 * 16);
      } else {
        out.words[i] = from[i * kPitch];
      }
    }
    return out;
  }
};

}  // namespace diecast
