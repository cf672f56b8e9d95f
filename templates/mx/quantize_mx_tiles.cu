// quantize_mx_tiles: a [rows, cols] matrix to MXFP8 or MXFP4 along rows, columns or both in one pass, or
// with one scale for a tile of 32x32, which then stands once for each of its rows or columns.
// Columnwise FP8 stays in x's order, [rows, cols], with the linear scale of a column's block at
// [row / 32, col]; columnwise E2M1 is that of the transposed matrix, and so are its linear scales.
// The tiled layouts have a column's scales in row col. What ends inside a block is padded with zeros.
// GROUPED: the members of a group, whose descriptors say where each lies and how many rows it has.
// ROWS_apart: whole blocks of 32, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
// PROFILE_te defines MXFP8 in MODE_rceil; PROFILE_torchao defines all formats in all modes.
/* diecast
shape    int   COLS      = 0                             // row length; 0 = not fixed at compile time
shape    enum  ROWS      {apart, any} = apart            // what is known of the rows, see above
shape    bool  GROUPED   = false                         // x and the outputs of many members, see above
option   type  IN        {bf16, f16, f32, e4m3}          // element type of x
use      <diecast/device/mx/mx_options.h>                // FORMAT, MODE
option   enum  SIDES {both, rowwise, columnwise} = both      // which outputs are written
option   int   BLOCK_ROWS {1, 32} = 1                    // blocks of 1x32 along each direction, or of 32x32
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
use      <diecast/device/blocks/profiles.h>              // PROFILE
tune     int   THREADS   {64, 128} = 128
tune     int   waves     {1, 8, 256} = 256               // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/group.h>                 // count, ROWWISE, COLUMNWISE, HAS_ROWS, HAS_COLUMNS
let      SQUARE      = BLOCK_ROWS == 32
let      FLAT        = LINEAR && !FOUR_BIT               // scales_t lie as the matrix does: [rows / 32, cols]
let      ALIGN       = ROWS == any && !FOUR_BIT ? 1 : 16 // of codes, bytes
let      TILES_ACROSS = host ? 1 : (FOUR_BIT ? 32 : 64) / bits(IN)  // that a warp takes side by side
let      TILES_DOWN  = FLAT ? 1 : 4                      // that it takes one below the other
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : 32)
size     pitch_t                                         // bytes from one row of linear scales_t to the next; 0: dense
arg      x        in   IN    [GROUPED ? 0 : rows, cols]  stride  align (ROWS == any ? bits(IN) / 8 : 16)
arg      codes    out  u8    [HAS_ROWS ? rows : 0, FOUR_BIT ? align_up(cols, 32) / 2 : cols]  align (ALIGN)
arg      scales   out  e8m0  [HAS_ROWS ? align_up(rows, SCALE_ROWS) : 0, align_up(ceil_div(cols, 32), SCALE_COLS)]  stride (LINEAR)
arg      codes_t  out  u8    [HAS_COLUMNS ? (FOUR_BIT ? cols : rows) : 0, FOUR_BIT ? align_up(rows, 32) / 2 : cols]  align (ALIGN)
arg      scales_t out  e8m0  [!HAS_COLUMNS ? 0 : FLAT ? ceil_div(rows, 32) : align_up(cols, SCALE_ROWS),
                              FLAT ? cols : max(pitch_t, align_up(ceil_div(rows, 32), SCALE_COLS))]  stride (FLAT)
arg      members  in   u8    [GROUPED ? count : 0, 96]  align 16
arg      rows
arg      cols
arg      count
arg      pitch_t
require  THREADS % 32 == 0                               // whole warps
require  PROFILE in {te, torchao}                        // modelopt's MXFP4 lies along the rows of a matrix: quantize_mx has it
require  SQUARE || COLUMNWISE || GROUPED                 // 1x32 along rows alone is quantize_mx's
require  PROFILE == torchao || !FOUR_BIT                 // MXFP4 is defined by PROFILE=torchao
launch   grid(min(ceil_div(align_up(ceil_div(rows, 32) + count, TILES_DOWN) *
                           ceil_div(align_up(ceil_div(cols, 32), SCALE_COLS), TILES_ACROSS) * 32, THREADS),
                  sm_count * waves)) block(THREADS)
exchange warp                                            // lanes find the largest of a block together
sample   COLS {0, 96}  rows {0, 1, 33, 130}  cols {1, 31, 32, 80, 96, 300}  count {0}  pitch_t {0}
*/
#include <diecast/device/mx/mx_block.h>
#include <diecast/device/mx/mx_column_host.h>
#include <diecast/device/mx/mx_piece.h>
#include <diecast/device/threads/reduce.h>
#include <diecast/device/threads/row_walk.h>

using Format = Mx<FORMAT, MODE, PROFILE == PROFILE_torchao>;
using Block = MxBlock<Format, IN, ROWS == ROWS_apart ? 32 : 0>;
using Scales = ScaleLayout<LAYOUT>;

// Where the scale of a column's block lies.
DIECAST_DEVICE i64 column_offset(i64 col, i64 block, i64 stride) {
  const bool in_order = FLAT;
  return in_order ? block * stride + col : Scales::offset(col, block, stride);
}

// A matrix and where its sides go.
struct Matrix {
  const IN* x;
  i64 stride, rows, cols;
  u8* codes;
  e8m0* scales;
  i64 scales_stride;
  u8* codes_t;
  e8m0* scales_t;
  i64 scales_t_stride;
};

DIECAST_DEVICE Matrix matrix_of(const Member& m, i64 cols) {
  const MemberSide &across = m.rowwise, &down = m.columnwise;
  // A descriptor has no stride for tiles.
  const bool linear = LINEAR;
  return {reinterpret_cast<const IN*>(m.matrix),
          m.stride,
          m.rows,
          cols,
          reinterpret_cast<u8*>(across.data),
          reinterpret_cast<e8m0*>(across.scale),
          linear ? across.scale_stride : Scales::padded_cols(ceil_div(cols, 32)),
          reinterpret_cast<u8*>(down.data),
          reinterpret_cast<e8m0*>(down.scale),
          linear ? down.scale_stride : Scales::padded_cols(ceil_div(m.rows, 32))};
}

// The host has no use for lanes that exchange what they find at every row.
#define DIECAST_PIECES (!DIECAST_HOST)
#if !DIECAST_PIECES

using Column = MxColumn<Format, IN>;

// A warp's tile of 32x32; a lane has one of its rows and one of its columns.
DIECAST_DEVICE void quantize_tile(const Matrix& m, i64 tile_row, i64 tile_col) {
  constexpr i64 kTile = 32;
  const i64 row_blocks = ceil_div(m.cols, kTile), col_blocks = ceil_div(m.rows, kTile);
  const i64 row_bytes = Format::kFourBit ? row_blocks * 16 : m.cols;
  const i64 lane = threadIdx.x % 32;
  const i64 row = tile_row * kTile + lane, col = tile_col * kTile + lane;
  const bool has_row = row < m.rows && tile_col < row_blocks;
  const bool has_col = col < m.cols && tile_row < col_blocks;
  const i64 left = m.cols - tile_col * kTile;
  const IN* of_row = m.x + row * m.stride + tile_col * kTile;
  const IN* of_col = m.x + tile_row * kTile * m.stride + col;
  e8m0 scale = {0};
  if (ROWWISE || SQUARE) {
    const Block block = has_row ? Block(of_row, left) : Block();
    u32 largest = block.largest();
    if constexpr (SQUARE) largest = warp_reduce_max_bits(largest);
    scale = Format::scale(largest);
    if (ROWWISE && has_row) {
      block.store(m.codes + row * row_bytes + tile_col * (Format::kFourBit ? 16 : 32), left, reciprocal_of_e8m0(scale));
    }
    if (ROWWISE && row < Scales::padded_rows(m.rows)) {
      m.scales[Scales::offset(row, tile_col, m.scales_stride)] = has_row ? scale : e8m0{0};
    }
  }
  if constexpr (COLUMNWISE) {
    const i64 below = m.rows - tile_row * kTile;
    if (has_col) {
      if (!SQUARE) scale = Format::scale(Column::largest(of_col, m.stride, below));
      u8* to = Format::kFourBit ? m.codes_t + (col * col_blocks + tile_row) * 16 : m.codes_t + tile_row * kTile * m.cols + col;
      Column::store(of_col, m.stride, below, reciprocal_of_e8m0(scale), to, m.cols);
    }
    if (col < Scales::padded_rows(m.cols)) {
      m.scales_t[column_offset(col, tile_row, m.scales_t_stride)] = has_col ? scale : e8m0{0};
    }
  }
}

#else

// Bytes are written as lines of rows; packed codes of columns want a lane to have eight rows.
using Piece = MxPiece<Format, IN, ROWS == ROWS_apart, Format::kFourBit ? 8 : 16>;
static_assert(TILES_ACROSS == Piece::kCols / 32);

// A warp's piece: `tile_row`-th of its column of pieces, `nth` of its row.
DIECAST_DEVICE void quantize_piece(const Matrix& m, i64 tile_row, i64 nth, const Piece& piece) {
  const i64 row_blocks = ceil_div(m.cols, 32), col_blocks = ceil_div(m.rows, 32);
  // The lane's first row and column, and how many there are from there on.
  const i64 row = tile_row * 32 + Piece::down() * Piece::kRows;
  const i64 col = nth * Piece::kCols + Piece::across() * Piece::kElements, block = col / 32;
  const int rows_left = Piece::rows_until(m.rows - row);
  const i64 cols_left = m.cols - col;
  const int steps = Piece::rows_until(Scales::padded_rows(m.rows) - tile_row * 32);  // of the lanes that have most rows
  piece.read(m.x + row * m.stride + col, m.stride, rows_left, cols_left);

  const bool has_codes = Format::kFourBit ? block < row_blocks : cols_left > 0;
  const bool has_scale = Piece::across() % Piece::kBlockLanes == 0 && block < Scales::padded_cols(row_blocks);
  const int scales_left = has_scale ? Piece::rows_until(Scales::padded_rows(m.rows) - row) : 0;
  const i64 row_bytes = Format::kFourBit ? row_blocks * 16 : m.cols;
  u8* codes = m.codes + row * row_bytes + (Format::kFourBit ? col / 2 : col);
  const auto put_row = [&](int i, const Vector<16>& v, e8m0 scale) {
    if (has_codes && i < rows_left) {
      const f32 factor = reciprocal_of_e8m0(scale);
      Piece::store(codes, v, cols_left, [&](int) { return factor; });
    }
    codes += row_bytes;
    if (i < scales_left) {
      const bool absent = SQUARE && (i >= rows_left || block >= row_blocks);  // else zeros, whose scale is 0
      m.scales[Scales::offset(row + i, block, m.scales_stride)] = absent ? e8m0{0} : scale;
    }
  };

  u32 largest[4] = {};
  DIECAST_NO_UNROLL
  for (int i = 0; i < steps; ++i) {
    const Vector<16> v = piece.row(i);
    DIECAST_UNROLL
    for (int j = 0; j < 4; ++j) largest[j] = Piece::larger(largest[j], v.words[j]);
    if constexpr (ROWWISE && !SQUARE) put_row(i, v, Format::scale(Piece::largest_of_block(v)));
  }
  constexpr int kOwn = Piece::kOwn;
  u32 own[Piece::kOwnWords] = {};
  if constexpr (SQUARE) {
    const u32 all = Piece::larger(Piece::larger(largest[0], largest[1]), Piece::larger(largest[2], largest[3]));
    own[0] =
        Piece::template largest_of_lanes<Piece::kAcross, 16>(Piece::template largest_of_lanes<1, Piece::kBlockLanes / 2>(all));
    if constexpr (ROWWISE) {
      const e8m0 scale = Format::scale(Piece::magnitude(own[0]));
      DIECAST_NO_UNROLL
      for (int i = 0; i < steps; ++i) put_row(i, piece.row(i), scale);
    }
  } else if constexpr (COLUMNWISE) {
    DIECAST_UNROLL
    for (u32 j = 0; j < 4; ++j) {
      const u32 word = Piece::template largest_of_lanes<Piece::kAcross, 16>(largest[j]);
      if (Piece::down() == j / Piece::kOwnWords) own[j % Piece::kOwnWords] = word;
    }
  }
  if constexpr (COLUMNWISE) {
    f32 factors[kOwn];
    DIECAST_UNROLL
    for (int k = 0; k < kOwn; ++k) {
      const e8m0 scale =
          Format::scale(SQUARE ? Piece::magnitude(own[0]) : Piece::magnitude(own[k / Piece::kPerWord], k % Piece::kPerWord));
      factors[k] = reciprocal_of_e8m0(scale);
      const i64 at = col + Piece::down() * kOwn + k;
      if (at < Scales::padded_rows(m.cols)) {
        const bool absent = SQUARE && (at >= m.cols || tile_row >= col_blocks);
        m.scales_t[column_offset(at, tile_row, m.scales_t_stride)] = absent ? e8m0{0} : scale;
      }
    }
    if constexpr (Format::kFourBit) {
      u8* to = m.codes_t + (col * col_blocks + tile_row) * 16 + Piece::down() * (Piece::kRows / 2);
      piece.store_columns(to, col_blocks * 16, tile_row < col_blocks ? cols_left : 0, factors);
    } else {
      f32 of_columns[Piece::kElements];
      DIECAST_UNROLL
      for (int k = 0; k < Piece::kElements; ++k) {
        of_columns[k] = Piece::of_column(factors[k % kOwn], k);
      }
      u8* to = m.codes_t + row * m.cols + col;
      DIECAST_NO_UNROLL
      for (int i = 0; i < steps; ++i, to += m.cols) {
        if (i < rows_left && cols_left > 0) Piece::store(to, piece.row(i), cols_left, [&](int k) { return of_columns[k]; });
      }
    }
  }
}

#endif

// One tile or piece after another. Four below one another, which columns' packed codes or tiled scales that lie
// together come of, follow each other.
DIECAST_KERNEL {
  constexpr u32 kWarps = THREADS / 32, kHigh = TILES_DOWN;
  const u32 warp = blockIdx.x * kWarps + threadIdx.x / 32, warps = gridDim.x * kWarps;
  const i64 row_pieces = ceil_div(Scales::padded_cols(ceil_div(cols, 32)), TILES_ACROSS) * kHigh;
#if DIECAST_PIECES
  __shared__ Vector<16> staged[kWarps * Piece::kBytes / 16];
  const Piece piece{Piece::place(staged)};
#endif
  const auto quantize = [&](const Matrix& m, i64 row, i64 nth) {
    const i64 tile_row = row * kHigh + nth % kHigh;
    if (tile_row >= Scales::padded_cols(ceil_div(m.rows, 32))) return;
#if DIECAST_PIECES
    quantize_piece(m, tile_row, nth / kHigh, piece);
#else
    quantize_tile(m, tile_row, nth / kHigh);
#endif
  };
  if constexpr (GROUPED) {
    DIECAST_NO_UNROLL
    for (GroupWalk<true> at{reinterpret_cast<const Member*>(members), count, 0, warp, warps};
         at.find<32 * kHigh>(static_cast<u32>(row_pieces)); at.next()) {
      quantize(matrix_of(at.members[at.place.member], cols), at.row, at.piece);
    }
  } else {
    const i64 col_tiles = Scales::padded_cols(ceil_div(rows, 32)), bands = ceil_div(col_tiles, kHigh);
    i64 scales_t_pitch = scales_t_stride;
    if constexpr (!FLAT) {
      // As far apart as the rows want, whose count the device may be the first to know.
      scales_t_pitch = LINEAR && pitch_t != 0 ? pitch_t : col_tiles;
    }
    const Matrix whole = {x, x_stride, rows, cols, codes, scales, scales_stride, codes_t, scales_t, scales_t_pitch};
    DIECAST_NO_UNROLL
    for (RowWalk at(row_pieces, bands, warp, warps, COLS != 0); at.row < bands; at.next()) quantize(whole, at.row, at.piece);
  }
}
