// transpose_codes: E2M1 codes of a [rows, cols] matrix, two a byte, to those of its transpose. A row
// of n codes has align_up(n, PAD) / 2 bytes; what is behind its end is read as if it were not there
// and written as zeros. Codes of 16x16 blocks alone mean the same transposed.
// ALIGNED: both matrices have rows of whole words of 8 codes, from a multiple of 4 bytes on.
/* diecast
shape    bool  ALIGNED = true                            // both matrices' rows are, see above
option   int   PAD     {2, 16} = 16                      // codes a row is padded to a multiple of
tune     int   THREADS {32, 256} = 256
tune     int   TILE    {64, 128} = 128                   // codes along a tile's side
tune     int   waves   {1, 8, 64} = 64                   // the most thread blocks a multiprocessor gets
size     rows
size     cols
arg      codes      in   u8  [rows, align_up(cols, PAD) / 2]  align (ALIGNED ? 4 : 1)
arg      transposed out  u8  [cols, align_up(rows, PAD) / 2]  align (ALIGNED ? 4 : 1)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(rows, TILE) * ceil_div(cols, TILE), sm_count * waves)) block(THREADS)
exchange block                                           // a tile is read along one side and written along the other
sample   rows {0, 1, 2, 16, 66, 130}  cols {1, 2, 8, 24, 130, 300}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/codes_8x8.h>
#include <diecast/device/threads/row_walk.h>

// Words of 8 codes a row of a tile. One more keeps columns of words in different banks.
constexpr int kWords = TILE / 8, kPitch = kWords + 1;

// Word `word` of a row with `bytes` bytes and `count` codes; codes at and behind `count` are zeros.
DIECAST_DEVICE u32 load_codes(const u8* row, i64 word, i64 bytes, i64 count) {
  const i64 left = count - 8 * word;
  if (left <= 0) return 0;
  u32 codes = 0;
  if constexpr (ALIGNED) {
    codes = load<4>(row + 4 * word).words[0];
  } else {
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (4 * word + i < bytes) codes |= u32{row[4 * word + i]} << (8 * i);
    }
  }
  return left >= 8 ? codes : codes & ((1u << (4 * left)) - 1);
}

DIECAST_DEVICE void store_codes(u8* row, i64 word, i64 bytes, u32 codes) {
  if constexpr (ALIGNED) {
    if (4 * word < bytes) store_streaming<4>(row + 4 * word, {{codes}});
  } else {
    DIECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (4 * word + i < bytes) row[4 * word + i] = static_cast<u8>(codes >> (8 * i));
    }
  }
}

DIECAST_KERNEL {
  __shared__ u32 tile[TILE * kPitch];
  const i64 bytes = align_up(cols, PAD) / 2, transposed_bytes = align_up(rows, PAD) / 2;
  const i64 tiles = ceil_div(rows, TILE) * ceil_div(cols, TILE);
  DIECAST_NO_UNROLL
  for (RowWalk at(ceil_div(cols, TILE), ceil_div(rows, TILE), blockIdx.x, gridDim.x); at.index < tiles; at.next()) {
    const i64 first_row = at.row * TILE, first_col = at.piece * TILE;
    DIECAST_NO_UNROLL
    for (int i = threadIdx.x; i < TILE * kWords; i += THREADS) {
      const i64 row = first_row + i / kWords, word = first_col / 8 + i % kWords;
      tile[i / kWords * kPitch + i % kWords] = row < rows ? load_codes(codes + row * bytes, word, bytes, cols) : 0;
    }
    __syncthreads();
    DIECAST_NO_UNROLL
    for (int i = threadIdx.x; i < kWords * kWords; i += THREADS) {
      // A square of 8x8 codes: neighbouring lanes write neighbouring words of the transpose's rows.
      const int across = i % kWords, down = i / kWords;
      u32 square[8];
      DIECAST_UNROLL
      for (int j = 0; j < 8; ++j) square[j] = tile[(8 * across + j) * kPitch + down];
      transpose_8x8(square);
      DIECAST_UNROLL
      for (int j = 0; j < 8; ++j) {
        const i64 row = first_col + 8 * down + j;
        if (row < cols) {
          store_codes(transposed + row * transposed_bytes, first_row / 8 + across, transposed_bytes, square[j]);
        }
      }
    }
    __syncthreads();
  }
}
