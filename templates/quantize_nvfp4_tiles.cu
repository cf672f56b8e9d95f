// quantize_nvfp4_tiles: a row-major [rows, cols] matrix to NVFP4 along its rows, along its columns (the
// codes and scales of its transpose) or both, read once. Blocks are 16 neighbours, or 16x16 with one
// scale that stands in the scale matrix 16 times. Global scales are given, for rows and for columns.
// What is short of a block is padded with zeros, and so is what is short of a layout's tile.
// GROUPED: the members of a group, whose descriptors say where each lies and how many rows it has.
// ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS       = 0                            // row length; 0 = not fixed at compile time
shape    enum  ROWS       {apart, any} = apart           // what is known of x's rows, see above
shape    bool  GROUPED    = false                        // x, codes and scales of many members, see above
option   type  IN         {bf16, f16, f32}               // element type of x
option   enum  DIRECTION  {rowwise, columnwise, both} = both
option   int   BLOCK_ROWS {1, 16} = 1                    // 1x16 blocks along either side, or 16x16
option   enum  PROFILE    {te, pr546, modelopt, torchao, te_ref, te_fast} = te  // whose bits; see PROFILES.md
option   enum  GLOBAL     {amax, encode, decode, none} = amax  // what amax holds: an amax, S, 1 / S; none: no global scale
option   bool  ROW_SCALE  = false                        // amax has one entry a row, amax_t one a column
option   enum  LAYOUT     {linear, s128x4, s8x4} = linear   // of the block scales
option   enum  FOUR_OVER_SIX {off, mae, mse} = off       // two scales are tried, the smaller error stays
option   int   BOUND      {448, 256} = 448               // block scale that the global scale aims at
option   bool  BLOCK_AMAX = false                        // block_amax and block_amax_t have each block's amax
option   enum  RHT        {none, rowwise, columnwise, both} = none   // the directions that are transformed first (hadamard.h)
option   int   SIGN_MASK  = 0                            // RHT: bit i flips the sign of element i of 16
option   bool  STOCHASTIC = false                        // codes are rounded by random numbers (stochastic.h)
tune     int   THREADS    {32, 256} = 256
tune     int   waves      {1, 8, 64} = 64                // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : 16)
size     count                                           // members; 0 unless GROUPED
size     pitch_t                                         // bytes from one row of linear scales_t to the next; 0: dense
arg      x        in   IN    [GROUPED ? 0 : rows, cols]  stride  align (ROWS == ROWS_any ? bits(IN) / 8 : 16)
arg      amax     in   f32   [GROUPED || DIRECTION == DIRECTION_columnwise || GLOBAL == GLOBAL_none ? 0 : ROW_SCALE ? rows : 1]
arg      codes    out  u8    [GROUPED || DIRECTION == DIRECTION_columnwise ? 0 : rows, align_up(cols, 16) / 2]  align 8
arg      scales   out  e4m3  [GROUPED || DIRECTION == DIRECTION_columnwise ? 0 : align_up(rows, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), align_up(ceil_div(cols, 16), LAYOUT == LAYOUT_linear ? 1 : 4)]  stride (LAYOUT == LAYOUT_linear)
arg      amax_t   in   f32   [GROUPED || DIRECTION == DIRECTION_rowwise || GLOBAL == GLOBAL_none ? 0 : ROW_SCALE ? cols : 1]
arg      codes_t  out  u8    [GROUPED || DIRECTION == DIRECTION_rowwise ? 0 : cols, align_up(rows, 16) / 2]  align 8
arg      scales_t out  e4m3  [GROUPED || DIRECTION == DIRECTION_rowwise ? 0 : align_up(cols, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), max(pitch_t, align_up(ceil_div(rows, 16), LAYOUT == LAYOUT_linear ? 1 : 4))]
arg      members  in   u8    [GROUPED ? count : 0, 96]  align 16
arg      rows
arg      cols
arg      count
arg      pitch_t
arg      block_amax   in f32 [!BLOCK_AMAX || DIRECTION == DIRECTION_columnwise ? 0 : BLOCK_ROWS == 16 ? ceil_div(rows, 16) : rows, ceil_div(cols, 16)]
arg      block_amax_t in f32 [!BLOCK_AMAX || DIRECTION == DIRECTION_rowwise ? 0 : BLOCK_ROWS == 16 ? ceil_div(cols, 16) : cols, ceil_div(rows, 16)]
arg      rng    in   i64   [STOCHASTIC ? 2 : 0]             // {seed, offset}
require  THREADS % 32 == 0                               // whole warps
require  !ROW_SCALE || BLOCK_ROWS == 1                   // one byte cannot serve 16 rows of different scale
require  PROFILE == PROFILE_te || FOUR_OVER_SIX == FOUR_OVER_SIX_off  // four over six is defined by profile te
require  GLOBAL == GLOBAL_amax || FOUR_OVER_SIX == FOUR_OVER_SIX_off  // the error of four over six is made with the amax itself: GLOBAL=amax
require  BOUND == 448 || FOUR_OVER_SIX != FOUR_OVER_SIX_off || PROFILE == PROFILE_modelopt  // bound 256 is defined by profile te with four over six, and by modelopt
require  GLOBAL != GLOBAL_encode || (PROFILE != PROFILE_modelopt && PROFILE != PROFILE_torchao)  // an encode scale is part of profiles te, pr546 and te_ref; modelopt and torchao take decode
require  PROFILE != PROFILE_te_fast || (IN == bf16 && GLOBAL == GLOBAL_amax && RHT == RHT_none && BLOCK_ROWS == 1)  // profile te_fast is defined for bf16 in 1x16 blocks under an amax, not transformed
require  GLOBAL != GLOBAL_none || PROFILE == PROFILE_te || PROFILE == PROFILE_torchao  // block scales alone are defined by profiles te and torchao
require  GLOBAL != GLOBAL_none || !ROW_SCALE             // without global scales there is none a row
require  !BLOCK_AMAX || PROFILE == PROFILE_modelopt      // given block amaxes are defined by profile modelopt
require  !BLOCK_AMAX || GLOBAL == GLOBAL_amax            // given block amaxes are scaled by the amax itself: GLOBAL=amax
require  !BLOCK_AMAX || !GROUPED                         // members of a group bring no amaxes of their blocks
require  RHT == RHT_none || RHT == RHT_columnwise || DIRECTION != DIRECTION_columnwise  // there is no rowwise output to transform
require  RHT == RHT_none || RHT == RHT_rowwise || DIRECTION != DIRECTION_rowwise  // there is no columnwise output to transform
require  RHT != RHT_none || SIGN_MASK == 0               // signs belong to the transform
require  SIGN_MASK >= 0 && SIGN_MASK < 65536             // one bit for each of 16 elements
launch   grid(min((ceil_div(rows, 128) + count) * ceil_div(align_up(cols, 128), 64), sm_count * waves)) block(THREADS) resident(FOUR_OVER_SIX == FOUR_OVER_SIX_off && !STOCHASTIC ? 0 : 1)
target   host, sm_80+
exchange block                                           // a tile is read along one side and quantized along the other
sample   COLS {0}  SIGN_MASK {0, 55272}  rows {0, 1, 17, 130}  cols {1, 17, 80, 300}  count {0}  pitch_t {0}
*/
#include <diecast/device/group.h>
#include <diecast/device/hadamard.h>
#include <diecast/device/matrix_tile.h>
#include <diecast/device/nvfp4_recipe.h>
#include <diecast/device/reduce.h>
#include <diecast/device/scale_layout.h>

using Recipe = Nvfp4Recipe<PROFILE, GLOBAL, FOUR_OVER_SIX, BOUND, BLOCK_AMAX>;
using Layout = ScaleLayout<LAYOUT>;
using Tile = MatrixTile<IN, ROWS == ROWS_apart, THREADS>;
enum Side { rowwise, columnwise };

constexpr bool kSquare = BLOCK_ROWS == 16, kFourOverSix = FOUR_OVER_SIX != FOUR_OVER_SIX_off;
// Squares are read up to three times a side; where that is long, code is compiled once and called.
constexpr bool kOnce = kSquare && (kFourOverSix || RHT != RHT_none);

// One direction of the matrix at hand: `lines` rows of `blocks` blocks.
struct Output : Randomness<STOCHASTIC> {
  i64 lines, blocks;
  const f32* amax;
  u8* codes;
  e4m3* scales;
  i64 pitch;                    // bytes from one row of linear scales to the next
  i64 first_line, first_block;  // of the tile
  const f32* block_amax;        // where it is given: of every block, of a square once

  DIECAST_DEVICE f32 amax_at(i64 line, i64 block) const {
    return block_amax[(kSquare ? line / 16 : line) * blocks + block];
  }
};

// What is known of the tile's 16x16 blocks, block (row / 16, col / 16) at 4 * (row / 16) + col / 16.
struct Squares {
  f32 of_block[kTileBlocks][kFourOverSix ? 2 : 1];  // of each row of them: amax, or both errors
  f32 amax[kTileBlocks / 16];
  bool four[kTileBlocks / 16];
};

template <Side side>
constexpr bool kTransformed =
    RHT == RHT_both || RHT == (side == rowwise ? RHT_rowwise : RHT_columnwise);

// Block i of the tile along a side: neighbouring threads write neighbouring blocks of a line.
template <Side side>
struct Place {
  int line, block;
  DIECAST_DEVICE explicit Place(int i)
      : line(side == rowwise ? i / 4 : i / 8), block(side == rowwise ? i % 4 : i % 8) {}
  DIECAST_DEVICE int square() const {
    return side == rowwise ? line / 16 * 4 + block : block * 4 + line / 16;
  }
};

// Long code is compiled once: blocks go into it and come back in registers.
DIECAST_DEVICE_CALL Block16<IN> transform(Block16<IN> block) { return hadamard16(block, SIGN_MASK); }

template <bool transformed, Side side>
DIECAST_DEVICE Block16<IN> read_block(const Tile& tile, const Place<side>& at) {
  Block16<IN> block;
  if constexpr (side == rowwise) {
    block = tile.across(at.line, at.block);
  } else {
    block = tile.down(at.line, at.block);
  }
  if constexpr (transformed) block = transform(block);
  return block;
}

template <bool transformed, Side side>
DIECAST_DEVICE_CALL Block16<IN> read_block_once(Tile tile, Place<side> at) {
  return read_block<transformed>(tile, at);
}

template <bool transformed, Side side>
DIECAST_DEVICE Block16<IN> block_at(const Tile& tile, const Place<side>& at) {
  if constexpr (kOnce) {
    return read_block_once<transformed>(tile, at);
  } else {
    return read_block<transformed>(tile, at);
  }
}

// Amaxes of the 16x16 blocks, of rows along `side`.
template <Side side, bool transformed>
DIECAST_DEVICE void find_amaxes(const Tile& tile, Squares& squares) {
DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < kTileBlocks; i += THREADS) {
    squares.of_block[i][0] = Recipe::amax(block_at<transformed>(tile, Place<side>(i)));
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    constexpr int kLineBlocks = side == rowwise ? 4 : 8;
    const int square = threadIdx.x;
    const int first = side == rowwise ? square / 4 * 64 + square % 4 : square % 4 * 128 + square / 4;
    f32 amax = 0.0f;
DIECAST_NO_UNROLL
    for (int line = 0; line < 16; ++line) {
      amax = max_or_nan(amax, squares.of_block[first + line * kLineBlocks][0]);
    }
    squares.amax[square] = amax;
  }
  __syncthreads();
}

// Which of the two scales each 16x16 block gets: its rows' errors added up as a tree.
template <Side side, bool transformed, class Global>
DIECAST_DEVICE void choose(const Tile& tile, Squares& squares, const Global& global) {
DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < 2 * kTileBlocks; i += THREADS) {
    const Place<side> at(i / 2);
    const f32 wanted = wanted_scale(squares.amax[at.square()], i % 2 == 0, global);
    const Block16<IN> block = block_at<transformed>(tile, at);
    squares.of_block[i / 2][i % 2] =
        four_over_six_once<FOUR_OVER_SIX == FOUR_OVER_SIX_mse, BOUND>(block, wanted, global).error;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    constexpr int kLineBlocks = side == rowwise ? 4 : 8;
    const int square = threadIdx.x;
    const int first = side == rowwise ? square / 4 * 64 + square % 4 : square % 4 * 128 + square / 4;
DIECAST_NO_UNROLL
    for (int distance = 8; distance > 0; distance /= 2) {
DIECAST_NO_UNROLL
      for (int line = 0; line < distance; ++line) {
        f32* to = squares.of_block[first + line * kLineBlocks];
        const f32* from = squares.of_block[first + (line + distance) * kLineBlocks];
        to[0] = __fadd_rn(to[0], from[0]);
        to[1] = __fadd_rn(to[1], from[1]);
      }
    }
    squares.four[square] = squares.of_block[first][0] < squares.of_block[first][1];
  }
  __syncthreads();
}

template <class Global>
DIECAST_DEVICE_CALL Nvfp4Block quantize_once(Block16<IN> block, f32 amax, Global global) {
  return Recipe::quantize(block, amax, global);
}

// The block under an amax that is not its own.
template <class Global>
DIECAST_DEVICE Nvfp4Block quantize_under(const Block16<IN>& block, f32 amax, const Global& global) {
  if constexpr (kOnce) {
    return quantize_once(block, amax, global);
  } else {
    return Recipe::quantize(block, amax, global);
  }
}

template <Side side, class Global>
DIECAST_DEVICE Nvfp4Block quantized(const Block16<IN>& block, const Place<side>& at,
                                    const Squares& squares, const Global& global) {
  if constexpr (!kSquare) {
    return Recipe::quantize(block, global);
  } else if constexpr (kFourOverSix) {
    const int square = at.square();
    const f32 wanted = wanted_scale(squares.amax[square], squares.four[square], global);
    return four_over_six_once<FOUR_OVER_SIX == FOUR_OVER_SIX_mse, BOUND>(block, wanted, global).block;
  } else {
    return quantize_under(block, squares.amax[at.square()], global);
  }
}

// Quantizes the tile along `side`. Squares along columns that are not transformed are those along
// rows, and so are the sums of their errors: the one output is the other's transpose.
template <Side side>
DIECAST_DEVICE void quantize_along(const Tile& tile, Squares& squares, const Output& out) {
  constexpr Side kBy = side == columnwise && !kTransformed<columnwise> ? rowwise : side;
  constexpr bool kKnown = side == columnwise && kBy == rowwise && DIRECTION == DIRECTION_both &&
                          !kTransformed<rowwise> && !kFourOverSix;
  const auto of_all = Recipe::global(GLOBAL == GLOBAL_none || ROW_SCALE ? 1.0f : out.amax[0]);
  if constexpr (kSquare && !kKnown && !BLOCK_AMAX) find_amaxes<kBy, kTransformed<side>>(tile, squares);
  if constexpr (kSquare && kFourOverSix) choose<kBy, kTransformed<side>>(tile, squares, of_all);
DIECAST_NO_UNROLL
  for (int i = threadIdx.x; i < kTileBlocks; i += THREADS) {
    const Place<side> at(i);
    const i64 line = out.first_line + at.line, block = out.first_block + at.block;
    const i64 padded_blocks = Layout::padded_cols(out.blocks);
    if (line >= Layout::padded_rows(out.lines) || block >= padded_blocks) continue;
    const i64 pitch = LAYOUT == LAYOUT_linear ? out.pitch : padded_blocks;
    e4m3* scale = out.scales + Layout::offset(line, block, pitch);
    if (LAYOUT != LAYOUT_linear && (line >= out.lines || block >= out.blocks)) {
      *scale = {0};
      continue;
    }
    const auto global = ROW_SCALE ? Recipe::global(out.amax[line]) : of_all;
    const Block16<IN> x16 = block_at<kTransformed<side>>(tile, at);
    Nvfp4Block to;
    if constexpr (BLOCK_AMAX) {
      to = quantize_under(x16, out.amax_at(line, block), global);
    } else {
      to = quantized(x16, at, squares, global);
    }
    if constexpr (STOCHASTIC) Recipe::round(x16, global, out, line * out.blocks + block, to);
    store_streaming<8>(out.codes + (line * out.blocks + block) * 8, {{to.codes[0], to.codes[1]}});
    *scale = to.scale;
  }
}

// A block of threads takes one tile after another.
DIECAST_KERNEL {
  __shared__ Vector<16> vectors[Tile::kWords / 4];
  __shared__ Squares squares;
  const Tile tile{vectors->words};
  const Member whole = {reinterpret_cast<u64>(x), 0, rows, x_stride,
      {reinterpret_cast<u64>(codes), reinterpret_cast<u64>(scales), reinterpret_cast<u64>(amax), scales_stride},
      {reinterpret_cast<u64>(codes_t), reinterpret_cast<u64>(scales_t), reinterpret_cast<u64>(amax_t), pitch_t != 0 ? pitch_t : ceil_div(rows, 16)}};
  const i64 tiled_cols = DIRECTION == DIRECTION_rowwise ? cols : Layout::padded_rows(cols);
  const u32 row_tiles = static_cast<u32>(ceil_div(tiled_cols, kTileCols));
DIECAST_NO_UNROLL
  for (GroupWalk<GROUPED> at{reinterpret_cast<const Member*>(members), count, rows, blockIdx.x, gridDim.x};
       at.find(kTileRows, row_tiles); at.next()) {
    const Member m = GROUPED ? at.members[at.member] : whole;
    const i64 row = i64{at.row} * kTileRows, col = i64{at.piece} * kTileCols;
    tile.load(reinterpret_cast<const IN*>(m.matrix) + row * m.stride + col, m.stride, m.rows - row, cols - col);
    __syncthreads();
    if constexpr (DIRECTION != DIRECTION_columnwise) {
      quantize_along<rowwise>(tile, squares, {randomness<STOCHASTIC>(rng, 0, false), m.rows, ceil_div(cols, 16),
          reinterpret_cast<const f32*>(m.rowwise.amax), reinterpret_cast<u8*>(m.rowwise.data),
          reinterpret_cast<e4m3*>(m.rowwise.scale), m.rowwise.scale_stride, row, col / 16, block_amax});
    }
    if constexpr (DIRECTION != DIRECTION_rowwise) {
      quantize_along<columnwise>(tile, squares, {randomness<STOCHASTIC>(rng, 0, true), cols, ceil_div(m.rows, 16),
          reinterpret_cast<const f32*>(m.columnwise.amax), reinterpret_cast<u8*>(m.columnwise.data),
          reinterpret_cast<e4m3*>(m.columnwise.scale), m.columnwise.scale_stride, col, row / 16, block_amax_t});
    }
    __syncthreads();
  }
}
