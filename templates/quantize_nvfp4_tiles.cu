// quantize_nvfp4_tiles: a row-major [rows, cols] matrix to NVFP4 along its rows, along its columns (the codes and scales of
// its transpose) or both, read once. Blocks are 16 neighbours, or 16x16 with one scale that stands in the scale matrix 16 times.
// Global scales are given, for rows and for columns. What is short of a block or of a layout's tile is padded with zeros. GROUPED:
// the members of a group, whose descriptors say where each lies and how many rows it has; amaxes of their blocks lie as their codes
// do. ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS       = 0                            // row length; 0 = not fixed at compile time
shape    enum  ROWS       {apart, any} = apart           // what is known of x's rows, see above
shape    bool  GROUPED    = false                        // x, codes and scales of many members, see above
option   type  IN         {bf16, f16, f32, e4m3}         // element type of x
option   enum  DIRECTION  {rowwise, columnwise, both} = both
option   int   BLOCK_ROWS {1, 16} = 1                    // 1x16 blocks along either side, or 16x16
option   enum  PROFILE    {te, pr546, modelopt, torchao, te_ref, te_fast, flashinfer_exact, flashinfer_fast, flashinfer_dsl_exact, flashinfer_dsl_fast} = te  // whose bits; see PROFILES.md
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
require  IN != e4m3 || RHT == RHT_none                  // a transform is rounded to x's type: bf16, f16 or f32
require  PROFILE < PROFILE_flashinfer_exact              // FlashInfer's profiles are defined for a matrix along its rows in 1x16 blocks: quantize_nvfp4 has them
require  RHT == RHT_none || RHT == RHT_columnwise || DIRECTION != DIRECTION_columnwise  // there is no rowwise output to transform
require  RHT == RHT_none || RHT == RHT_rowwise || DIRECTION != DIRECTION_rowwise  // there is no columnwise output to transform
require  RHT != RHT_none || SIGN_MASK == 0               // signs belong to the transform
require  SIGN_MASK >= 0 && SIGN_MASK < 65536             // one bit for each of 16 elements
launch   grid(min((ceil_div(rows, 128) + count) * ceil_div(cols, (bits(IN) == 32 ? 128 : 256)), sm_count * waves)) block(THREADS) resident(DIRECTION == DIRECTION_both && ROWS == ROWS_apart && bits(IN) == 16 && BLOCK_ROWS == 1 && PROFILE == PROFILE_te && GLOBAL == GLOBAL_amax && FOUR_OVER_SIX == FOUR_OVER_SIX_off && !STOCHASTIC && !ROW_SCALE && RHT == RHT_none && (cc < 86 || cc == 90) ? 3 : bits(IN) != 16 || ROW_SCALE || (RHT != RHT_none && (GROUPED || DIRECTION != DIRECTION_columnwise || BLOCK_ROWS == 16)) || PROFILE != PROFILE_te || FOUR_OVER_SIX != FOUR_OVER_SIX_off || STOCHASTIC ? 1 : GROUPED || ROWS != ROWS_apart ? 2 : RHT != RHT_none || (DIRECTION == DIRECTION_rowwise && (BLOCK_ROWS == 1 || LAYOUT != LAYOUT_linear)) ? 3 : 4)
launch   shared(DIRECTION == DIRECTION_both && ROWS == ROWS_apart && bits(IN) == 16 && BLOCK_ROWS == 1 && PROFILE == PROFILE_te && GLOBAL == GLOBAL_amax && FOUR_OVER_SIX == FOUR_OVER_SIX_off && !STOCHASTIC && !ROW_SCALE && RHT == RHT_none && (cc < 86 || cc == 90) ? 65536 : 0)  // eight stripes
target   host, sm_80+
exchange block                                           // a tile is read along one side and quantized along the other
sample   COLS {0}  SIGN_MASK {0, 55272}  rows {0, 1, 17, 130}  cols {1, 17, 80, 300}  count {0}  pitch_t {0}
*/
#include <diecast/device/hadamard.h>
#include <diecast/device/nvfp4_ordinary.h>
#include <diecast/device/nvfp4_recipe.h>
#include <diecast/device/nvfp4_square.h>
#include <diecast/device/ordinary_codes.h>
#include <diecast/device/piece16x64.h>
#include <diecast/device/tile_output.h>
#include <diecast/device/tile_scales.h>
#include <diecast/device/tile_stripes.h>

using Recipe = Nvfp4Recipe<PROFILE, GLOBAL, FOUR_OVER_SIX, BOUND, BLOCK_AMAX>;
using Block = LoadedBlock16<IN>;
using Element = LoadedElement<IN>::Type;
using Piece = Piece16x64<IN, ROWS == ROWS_apart>;

constexpr bool kRowwise = DIRECTION != DIRECTION_columnwise, kColumnwise = DIRECTION != DIRECTION_rowwise, kBoth = kRowwise && kColumnwise;
constexpr bool kTransformsRows = RHT == RHT_both || RHT == RHT_rowwise, kTransformsColumns = RHT == RHT_both || RHT == RHT_columnwise;
constexpr bool kSquare = BLOCK_ROWS == 16, kFourOverSix = FOUR_OVER_SIX != FOUR_OVER_SIX_off;
constexpr bool kOrdinary = kHasOrdinary<LoadedElement<IN>::Type, PROFILE, GLOBAL, FOUR_OVER_SIX> && !STOCHASTIC;
// A lane's two blocks side by side in the code, which wait together: longer to compile.
constexpr bool kTogether = kOrdinary && bits<IN>() != 8 && RHT == RHT_none && !ROW_SCALE && !(kSquare && kBoth);
// Of both sides, where a multiprocessor has room: a warp takes a whole stripe of a tile, which writes lines of rows.
constexpr bool kStriped = kTogether && kBoth && ROWS == ROWS_apart && (DIECAST_CC < 86 || DIECAST_CC == 90);
// Else pieces of 16 rows and 64 columns, turned in shared memory; of rows alone 128 columns, which stay in registers.
constexpr int kTileCols = bits<IN>() == 32 ? 128 : 256;
constexpr int kRowLanes = kColumnwise || bits<IN>() == 32 ? 4 : 8;  // lanes of a row of a piece
constexpr int kOwn = kRowLanes / 2, kApart = 32 / kRowLanes;         // a lane's blocks, the rows from one to the next
using Output = TileOutput<LAYOUT, kSquare, ROW_SCALE, STOCHASTIC>;

DIECAST_DEVICE auto global_of(f32 given) { return with_limit<kOrdinary>(Recipe::global(given)); }
DIECAST_DEVICE auto global_at(u64 amax) { return global_of(GLOBAL == GLOBAL_none || ROW_SCALE ? 1.0f : *reinterpret_cast<const f32*>(amax)); }

// All lanes. Of both sides by lanes in turns, where that is the same.
template <class Global>
DIECAST_DEVICE void find_globals(const Member& m, Global& of_rows, Global& of_columns) {
  if constexpr (kOrdinary && kBoth && !ROW_SCALE) {
    const Global own = global_at(threadIdx.x % 2 == 0 ? m.rowwise.amax : m.columnwise.amax);
    of_rows = global_of_lane(own, 0), of_columns = global_of_lane(own, 1);
  } else {
    if constexpr (kRowwise) of_rows = global_at(m.rowwise.amax);
    if constexpr (kColumnwise) of_columns = global_at(m.columnwise.amax);
  }
}

// Long code is compiled once, and as a template only where it is called: blocks go into it and come back in registers.
template <class Of>
DIECAST_DEVICE_CALL Of transform(Of block) { return hadamard16(block, SIGN_MASK); }

template <int RowLanes, class Own, class Global>
DIECAST_DEVICE Square square_of(const Own& own, const Global& global) {
  return nvfp4_square<Recipe, Block, RowLanes, RowLanes == 0 ? 2 : kOwn, kOrdinary, FOUR_OVER_SIX, BOUND>(own, global);
}

template <class Global>
DIECAST_DEVICE Nvfp4Block quantize_any(const Block& block, const Square& square, const Global& global) {
  if constexpr (!kSquare) {
    return Recipe::quantize(block, global);
  } else if constexpr (kFourOverSix) {
    return four_over_six_once<FOUR_OVER_SIX == FOUR_OVER_SIX_mse, BOUND>(block, wanted_scale(square.amax, square.four, global), global).block;
  } else {
    return Recipe::quantize(block, square.amax, global);
  }
}

// In a call: what is not ordinary, or long.
template <class Global>
DIECAST_DEVICE_CALL Nvfp4Block quantize_seldom(Block block, Square square, Global global) {
  if constexpr (kOrdinary) {
    Nvfp4Block out = {{0, 0}, nvfp4_block_scale(kSquare ? square.amax : Recipe::amax(block), global)};
    seldom_codes(block, Recipe::factor(out.scale, global), out.codes);
    return out;
  } else {
    return quantize_any(block, square, global);
  }
}

template <class Global>
DIECAST_DEVICE Nvfp4Block quantized(const Block& block, const Square& square, const Global& global) {
  if constexpr (kOrdinary) {
    const OrdinaryScale found(kSquare ? square.amax : amax_with_nan(block), global);
    if (!found.is_ordinary || (kSquare && !square.ordinary)) return quantize_seldom(block, square, global);
    Nvfp4Block out = {{0, 0}, found.scale};
    ordinary_codes(block, found.factor, out.codes);
    return out;
  } else if constexpr (DIECAST_HOST || kFourOverSix || STOCHASTIC || PROFILE != PROFILE_te || ROW_SCALE) {
    return quantize_seldom(block, square, global);  // long to compile: rows and columns share it
  } else {
    return quantize_any(block, square, global);
  }
}

// A block's codes anew, by random numbers.
template <class Global>
DIECAST_DEVICE_CALL Nvfp4Block rounded(Block block, Global global, Randomness<STOCHASTIC> random, i64 index, Nvfp4Block found) {
  Recipe::round(block, global, random, index, found);
  return found;
}

// Two of a lane's blocks along a side, `apart` lines from one to the other, the first block `block` of line `line`: to `store`.
template <class Global, class Store>
DIECAST_DEVICE void quantize_two(Block (&two)[2], const Square& square, const Output& out, const Global& of_all,
                                 int line, int block, int apart, const Store& store) {
  if constexpr (kTogether) {
    const auto seldom = [&](const Block& block) { return quantize_seldom(block, square, of_all); };
    quantize_together<kSquare>(TwoBlocks<Element>{{two[0], two[1]}}, square.amax, square.ordinary, of_all, seldom, store);
  } else {
DIECAST_NO_UNROLL
    for (int i = 0; i < 2; ++i, two[0] = two[1], line += apart) {
      const auto global = ROW_SCALE ? global_of(out.amax_of_line(line)) : of_all;
      Nvfp4Block to = BLOCK_AMAX ? Recipe::quantize(two[0], out.amax_of_block(line, block), global) : quantized(two[0], square, global);
      if constexpr (STOCHASTIC) to = rounded(two[0], global, out, out.index(line, block), to);
      store(i, to);
    }
  }
}

// A block of threads takes one tile after another.
DIECAST_KERNEL {
  __shared__ Vector<16> staged[kColumnwise && !kStriped ? THREADS / 32 * Piece::kWords / 4 : 1];
  __shared__ TileColumns<kColumnwise && !kStriped ? kTileCols : 2> columns;
  __shared__ TileScales<kColumnwise ? kTileCols : 1, kStripes> scales_down;
  __shared__ TileScales<kBoth ? kTileRows : 1, kTileCols / 16> scales_across;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Piece piece{staged->words + (kColumnwise ? warp * Piece::kWords : 0)};
  const Member whole = {reinterpret_cast<u64>(x), 0, rows, x_stride,
      {reinterpret_cast<u64>(codes), reinterpret_cast<u64>(scales), reinterpret_cast<u64>(amax), scales_stride},
      {reinterpret_cast<u64>(codes_t), reinterpret_cast<u64>(scales_t), reinterpret_cast<u64>(amax_t), pitch_t != 0 ? pitch_t : ceil_div(rows, 16)}};
  decltype(global_of(0)) of_rows = {}, of_columns = {};
  if constexpr (!GROUPED && !kBoth) find_globals(whole, of_rows, of_columns);
  const u32 row_tiles = static_cast<u32>(ceil_div(cols, kTileCols));
DIECAST_NO_UNROLL
  for (GroupWalk<GROUPED, GROUPED && BLOCK_AMAX> at{reinterpret_cast<const Member*>(members), count, rows, blockIdx.x, gridDim.x};
       at.find(kTileRows, row_tiles); at.next()) {
    const Member m = GROUPED ? at.members[at.place.member] : whole;
    if constexpr (GROUPED && !kBoth) find_globals(m, of_rows, of_columns);
    if constexpr (kStriped) in_bands(at.row, at.piece, static_cast<u32>(ceil_div(m.rows, kTileRows)), row_tiles);
    const i64 row = i64{at.row} * kTileRows, col = i64{at.piece} * kTileCols, row_blocks = ceil_div(cols, 16), col_blocks = ceil_div(m.rows, 16);
    const int in_rows = static_cast<int>(min(m.rows - row, i64{kTileRows})), in_cols = static_cast<int>(min(cols - col, i64{kTileCols}));
    const Output across(rng, m.rowwise, block_amax + (kSquare ? at.place.sixteens : m.row_begin) * row_blocks, row_blocks, row, col / 16, in_rows, in_cols, false);
    const Output down(rng, m.columnwise, block_amax_t + at.place.sixteens * (kSquare ? row_blocks : cols), col_blocks, col, row / 16, in_cols, in_rows, true);
    const IN* from = reinterpret_cast<const IN*>(m.matrix) + row * m.stride + col;
    if constexpr (kStriped) {
      const auto seldom = [&](const Block& block, const auto& global) { return quantize_seldom(block, Square{}, global); };
      const auto find = [&] { find_globals(m, of_rows, of_columns); };
      quantize_stripes<Element, THREADS>(from, m.stride * sizeof(IN), across, down, scales_across, scales_down, of_rows, of_columns, find, seldom);
    } else {
DIECAST_NO_UNROLL
      for (int stripe = warp; stripe < kStripes; stripe += THREADS / 32) {
        if (16 * stripe >= (kRowwise ? across.padded_lines() : in_rows)) break;
        const int at_row = 16 * stripe + (kColumnwise ? Piece::lane_row() : lane / kRowLanes);
        const int at_col = kColumnwise ? Piece::lane_col() : lane % kRowLanes * 16;
        const IN* at_x = from + at_row * m.stride + at_col;
        const int has_rows = in_rows - at_row;
        int has_cols = in_cols - at_col;
        TilePlace<LAYOUT> to(across, 16 * stripe + lane / kRowLanes, lane % kRowLanes);
        Vector<8>* codes_to = columns.at(2 * lane, stripe);
        e4m3* scale_to = scales_down.at(2 * lane, stripe);
        e4m3* scale_across_to = scales_across.at(16 * stripe + lane / kRowLanes, lane % kRowLanes);
        if constexpr (kColumnwise) {
          piece.begin(at_x, m.stride, has_rows, has_cols);
          if constexpr (kBoth) find_globals(m, of_rows, of_columns);  // while that is on its way
        }
DIECAST_NO_UNROLL
        for (int left = 0; left < kTileCols; left += 16 * kRowLanes) {
          if constexpr (kColumnwise) piece.wait();
          Square square = {};
          if constexpr (kRowwise) {
            const auto own = [&](int i, Block (&two)[2]) {
              if constexpr (kColumnwise) {
                piece.across(two);
              } else {
                Piece::template load<kApart>(at_x + i * kApart * m.stride, m.stride, has_rows - i * kApart, has_cols, two);
              }
              if constexpr (kTransformsRows) two[0] = transform(two[0]), two[1] = transform(two[1]);
            };
            if constexpr (kSquare && !BLOCK_AMAX) square = square_of<kRowLanes>(own, of_rows);
DIECAST_NO_UNROLL
            for (int i = 0; i < kOwn; i += 2) {
              Block two[2];
              own(i, two);
              quantize_two(two, square, across, of_rows, to.line + i * kApart, to.block, kApart, [&](int j, const Nvfp4Block& block) {
                const Vector<8> block_codes = {{block.codes[0], block.codes[1]}};
                if constexpr (kColumnwise) {
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
          const auto store_column = [&](int i, const Nvfp4Block& block) {
            codes_to[i * columns.kToOdd] = {{block.codes[0], block.codes[1]}};
            scale_to[i * scales_down.kPitch] = block.scale;
          };
          if constexpr (kColumnwise && kTogether && !kSquare) {
            TwoColumns<Element> two;
            piece.down(two.words);
            if (left + 64 < kTileCols) piece.begin(at_x, m.stride, has_rows, has_cols);
            const auto seldom = [&](const Block& block) { return quantize_seldom(block, square, of_columns); };
            quantize_together<false>(two, 0.0f, true, of_columns, seldom, store_column);
          } else if constexpr (kColumnwise) {
            Block two[2];
            piece.down(two);
            // What is not transformed is the rows' transpose, and so are the sums of its errors.
            constexpr bool kByRows = kSquare && kFourOverSix && !kTransformsColumns;
            if constexpr (kByRows) {
              square = square_of<kRowLanes>([&](int, Block (&own)[2]) { piece.across(own); }, of_columns);
              square.amax = __shfl_sync(0xFFFFFFFFu, square.amax, lane / 8);
              square.four = __shfl_sync(0xFFFFFFFFu, int{square.four}, lane / 8) != 0;
            }
            if (left + 64 < kTileCols) piece.begin(at_x, m.stride, has_rows, has_cols);
            if constexpr (kTransformsColumns) two[0] = transform(two[0]), two[1] = transform(two[1]);
            if constexpr (kSquare && !BLOCK_AMAX && !kByRows) {
              square = square_of<0>([&](int, Block (&own)[2]) { own[0] = two[0], own[1] = two[1]; }, of_columns);
            }
            quantize_two(two, square, down, of_columns, left + 2 * lane, stripe, 1, store_column);
          }
          codes_to += 32 * columns.kPitch, scale_to += 64 * scales_down.kPitch;
        }
      }
      if constexpr (kColumnwise) {
        __syncthreads();
        columns.template write<THREADS>(down);
        scales_down.template write<THREADS>(down);
        if constexpr (kRowwise) scales_across.template write<THREADS>(across);
        __syncthreads();
      }
    }
  }
}
