// quantize_nvfp4_tiles: a row-major [rows, cols] matrix to NVFP4 along its rows, along its columns (the codes and scales of its
// transpose) or both, read once. Blocks are 16 neighbours, or 16x16 with one scale that stands in the scale matrix 16 times.
// Global scales are given, for rows and for columns. What is short of a block or of a layout's tile is padded with zeros.
// GROUPED: the members of a group, whose descriptors say where each lies and how many rows it has; amaxes of their blocks lie
// as their codes do. ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS       = 0                            // row length; 0 = not fixed at compile time
shape    enum  ROWS       {apart, any} = apart           // what is known of the rows, see above
shape    bool  GROUPED    = false                        // x and the outputs of many members, see above
option   type  IN         {bf16, f16, f32, e4m3}         // element type of x
option   enum  SIDES  {rowwise, columnwise, both} = both
option   int   BLOCK_ROWS {1, 16} = 1                    // 1x16 blocks along either side, or 16x16
use      <diecast/device/nvfp4/nvfp4_options.h>          // PROFILE, GLOBAL, ROW_SCALE, LAYOUT, FOUR_OVER_SIX, BOUND, BLOCK_AMAX
option   enum  RHT        {none, rowwise, columnwise, both} = none  // the directions that are transformed first
use      <diecast/device/blocks/hadamard.h>              // SIGN_MASK
option   bool  STOCHASTIC = false                        // codes are rounded by random numbers (stochastic.h)
tune     int   THREADS    {32, 256} = 256
tune     int   waves      {1, 8, 256} = 256              // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/group.h>                 // count, ROWWISE, COLUMNWISE, HAS_ROWS, HAS_COLUMNS
let      SQUARE      = BLOCK_ROWS == 16
let      TRANSFORMED = RHT != none
let      TRANSFORMS_ROWS    = RHT in {rowwise, both}
let      TRANSFORMS_COLUMNS = RHT in {columnwise, both}
let      TILE_COLS   = bits(IN) == 32 ? 128 : 256
let      SHORT       = bits(IN) == 16 && PROFILE == te && FOUR_OVER_SIX == off && !STOCHASTIC && !ROW_SCALE  // to compile
let      COMMON      = SHORT && GLOBAL == amax           // what is often quantized
let      STRIPED     = (COMMON && ROWWISE && COLUMNWISE && ROWS == apart && !SQUARE && !TRANSFORMED &&
                        !host && (cc < 86 || cc == 90))  // both sides, where a multiprocessor has room: warps take stripes
let      CLUSTER     = STRIPED && LINEAR && !GROUPED && cc == 90 ? 2 : 1  // of tiles one below the other
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : 16)
size     pitch_t                                         // bytes from one row of linear scales_t to the next; 0: dense
arg      x        in   IN    [GROUPED ? 0 : rows, cols]  stride  align (ROWS == any ? bits(IN) / 8 : 16)
arg      amax     in   f32   [!HAS_ROWS || GLOBAL == none ? 0 : ROW_SCALE ? rows : 1]
arg      codes    out  u8    [HAS_ROWS ? rows : 0, align_up(cols, 16) / 2]  align 8
arg      scales   out  e4m3  [HAS_ROWS ? align_up(rows, SCALE_ROWS) : 0, align_up(ceil_div(cols, 16), SCALE_COLS)]  stride (LINEAR)
arg      amax_t   in   f32   [!HAS_COLUMNS || GLOBAL == none ? 0 : ROW_SCALE ? cols : 1]
arg      codes_t  out  u8    [HAS_COLUMNS ? cols : 0, align_up(rows, 16) / 2]  align 8
arg      scales_t out  e4m3  [HAS_COLUMNS ? align_up(cols, SCALE_ROWS) : 0, max(pitch_t, align_up(ceil_div(rows, 16), SCALE_COLS))]
arg      members  in   u8    [GROUPED ? count : 0, 96]  align 16
arg      rows
arg      cols
arg      count
arg      pitch_t
arg      block_amax   in f32 [!BLOCK_AMAX || !ROWWISE ? 0 : SQUARE ? ceil_div(rows, 16) : rows, ceil_div(cols, 16)]
arg      block_amax_t in f32 [!BLOCK_AMAX || !COLUMNWISE ? 0 : SQUARE ? ceil_div(cols, 16) : cols, ceil_div(rows, 16)]
arg      rng    in   i64   [STOCHASTIC ? 2 : 0]          // {seed, offset}
require  THREADS % 32 == 0                               // whole warps
require  !ROW_SCALE || !SQUARE                           // one byte cannot serve 16 rows of different scale
require  PROFILE != te_fast || (IN == bf16 && GLOBAL == amax && !TRANSFORMED && !SQUARE)  // te_fast is of bf16 in 1x16 blocks under an amax
require  !FLASHINFER                                     // FlashInfer's profiles are along rows, in 1x16 blocks: quantize_nvfp4 has them
require  !TRANSFORMS_ROWS || ROWWISE                     // there is no rowwise output to transform
require  !TRANSFORMS_COLUMNS || COLUMNWISE               // there is no columnwise output to transform
launch   grid(align_up(min((ceil_div(rows, 128) + count) * ceil_div(cols, TILE_COLS), sm_count * waves),
                       cc == 90 && !GROUPED ? 2 : 1)) block(THREADS) shared(STRIPED ? 65536 : 0) cluster(CLUSTER)  // eight stripes
launch   resident(STRIPED ? 3 : !SHORT || (TRANSFORMED && (GROUPED || ROWWISE || SQUARE)) ? 1
                  : ROWS == any || (GROUPED && (COLUMNWISE || SQUARE)) ? 2
                  : GROUPED || TRANSFORMED || (!COLUMNWISE && (!SQUARE || !LINEAR)) ? 3 : 4)
exchange block                                           // a tile is read along one side and written along the other
sample   COLS {0}  rows {0, 1, 17, 130}  cols {1, 17, 80, 300}  count {0}  pitch_t {0}
*/
#include <diecast/device/nvfp4/nvfp4_recipe.h>
#include <diecast/device/nvfp4/tie_factors.h>
#include <diecast/device/tile/piece16x64.h>
#include <diecast/device/tile/tile_pieces.h>
#include <diecast/device/tile/tile_sides.h>
#include <diecast/device/tile/tile_stripes.h>

using Recipe = Nvfp4Recipe<PROFILE, GLOBAL, FOUR_OVER_SIX, BOUND, BLOCK_AMAX>;
using Block = LoadedBlock16<IN>;
using Element = LoadedElement<IN>::Type;
using Piece = Piece16x64<IN, ROWS == ROWS_apart>;
constexpr bool kBoth = ROWWISE && COLUMNWISE, kOneGlobal = GLOBAL != GLOBAL_none && !ROW_SCALE,
               kFourOverSix = FOUR_OVER_SIX != FOUR_OVER_SIX_off, kSquares = FOUR_OVER_SIX == FOUR_OVER_SIX_mse;
constexpr bool kOrdinary = kHasOrdinary<Element, PROFILE, GLOBAL, FOUR_OVER_SIX> && !STOCHASTIC;
// A lane's two blocks side by side in the code: longer to compile, but for what is often quantized.
constexpr bool kPlain = COMMON && (!TRANSFORMED || (ROWS == ROWS_apart && !SQUARE)) &&
                        !(GROUPED && (ROWS == ROWS_any || TRANSFORMED)) && !(SQUARE && kBoth);
constexpr bool kTogether = kPlain && kOrdinary && !TRANSFORMED && ROWS == ROWS_apart;  // which wait together
static_assert(!STRIPED || kTogether, "stripes wait together");
// By factors that are made once a tile, for both sides. (Of members that would take eleven empty kernels to compile.)
constexpr bool kTies = STRIPED && dtype_id<Element> == dtype_id<bf16> && !GROUPED;
// A CLUSTER writes columns' scales 16 at once: half a sector costs a whole one between the halves of the second-level cache.
// Members may have few rows: their tiles are low and wide, so that there is work for all warps.
constexpr bool kLow = GROUPED && !COLUMNWISE && kPlain;
constexpr int kRows = kLow ? 32 : kTileRows, kParts = kLow ? 4 : 1, kTileCols = kParts * TILE_COLS;
using Output = TileOutput<LAYOUT, SQUARE, ROW_SCALE, STOCHASTIC>;

DIECAST_DEVICE auto global_of(f32 given) { return with_limit<kOrdinary>(Recipe::global(given)); }
DIECAST_DEVICE auto global_at(u64 amax) { return global_of(kOneGlobal ? *reinterpret_cast<const f32*>(amax) : 1.0f); }

// All lanes. Of both sides by lanes in turns, where that is the same.
template <class Global>
DIECAST_DEVICE void find_globals(const Member& m, Global& of_rows, Global& of_columns) {
  if constexpr (kOrdinary && kBoth) {
    const Global own = global_at(threadIdx.x % 2 == 0 ? m.rowwise.amax : m.columnwise.amax);
    of_rows = global_of_lane(own, 0), of_columns = global_of_lane(own, 1);
  } else {
    if constexpr (ROWWISE) of_rows = global_at(m.rowwise.amax);
    if constexpr (COLUMNWISE) of_columns = global_at(m.columnwise.amax);
  }
}

template <int Threads>
DIECAST_DEVICE_CALL void make_ties(f32 of_rows, f32 of_columns, TieFactors* ties) {
  make_tie_factors<Threads>(ties, [&](u32 side) { return global_of(side == 0 ? of_rows : of_columns); });
}

// Both sides of a tile as quantize(by_rows, by_columns, find) does it; find() makes what they are under, by all threads.
template <bool Ties, class Global, class Quantize>
DIECAST_DEVICE void under_globals(const Member& m, f32 row_amax, f32 col_amax, Global& of_rows, Global& of_columns,
                                  TieFactors* ties, const Quantize& quantize) {
  if constexpr (Ties) {
    TieGlobal by_rows = {held(shared_place(ties)), 0.0f}, by_columns = {held(shared_place(ties + 1)), 0.0f};
    quantize(by_rows, by_columns, [&] {
      make_ties<THREADS>(row_amax, col_amax, ties);
      by_rows.find(), by_columns.find();
    });
  } else {
    quantize(of_rows, of_columns, [&] { find_globals(m, of_rows, of_columns); });
  }
}

// In a call: what is not ordinary, or long. Squares, and where amaxes are given: under `amax`.
template <class Global>
DIECAST_DEVICE_CALL Nvfp4Block quantize_seldom(Block block, f32 amax, Global global, Randomness<STOCHASTIC> random = {},
                                               i64 index = 0) {
  Nvfp4Block out = {};
  if constexpr (kTies) {
    const auto of_all = global.of_all();
    out.scale = nvfp4_block_scale(Recipe::amax(block), of_all);
    seldom_codes(block, Recipe::factor(out.scale, of_all), out.codes);
  } else if constexpr (kOrdinary) {
    out.scale = nvfp4_block_scale(SQUARE ? amax : Recipe::amax(block), global);
    seldom_codes(block, Recipe::factor(out.scale, global), out.codes);
  } else if constexpr (kFourOverSix && (STOCHASTIC || ROW_SCALE || TRANSFORMED)) {  // shorter to compile
    const f32 own = Recipe::amax(block);
    const auto six = four_over_six_once<kSquares, BOUND>(block, own, false, global),
               four = four_over_six_once<kSquares, BOUND>(block, own, true, global);
    out = four.error < six.error ? four.block : six.block;  // six where they tie or one is NaN
  } else if constexpr (kFourOverSix) {
    out = four_over_six<kSquares, BOUND, true>(block, global);
  } else if constexpr (STOCHASTIC && PROFILE == PROFILE_modelopt) {
    out.scale = Recipe::scale(SQUARE || BLOCK_AMAX ? amax : Recipe::amax(block), global);
  } else if constexpr (SQUARE || BLOCK_AMAX) {
    out = Recipe::quantize(block, amax, global);
  } else {
    out = Recipe::quantize(block, global);
  }
  if constexpr (STOCHASTIC) Recipe::round<true>(block, global, random, index, out);
  return out;
}

template <class Of>
DIECAST_DEVICE_CALL Of transform(Of block) {
  return hadamard16(block, SIGN_MASK);
}

// Long code is called, even where it is called once: amid other code a compiler takes longer for it.
template <class From>
DIECAST_DEVICE_CALL Block block_of(From piece, bool of_row, int i, bool transforms) {
  const Block block = piece.block(of_row, i);
  return TRANSFORMED && transforms ? hadamard16<true>(block, SIGN_MASK) : block;
}

template <class Global>
DIECAST_DEVICE_CALL Nvfp4Block rounded(Block block, Global global, Randomness<STOCHASTIC> random, i64 index, Nvfp4Block found) {
  Recipe::round<true>(block, global, random, index, found);
  return found;
}

// What may become of blocks (tile_pieces.h, tile_sides.h).
struct Way {
  using Recipe = ::Recipe;
  static constexpr bool kRowwise = ROWWISE, kColumnwise = COLUMNWISE, kSquare = SQUARE;
  static constexpr int kParts = ::kParts;
  static constexpr bool kOrdinary = ::kOrdinary, kTries = SQUARE && kFourOverSix, kFindsSquares = SQUARE && !BLOCK_AMAX;
  static constexpr bool kTransformsRows = TRANSFORMS_ROWS, kTransformsColumns = TRANSFORMS_COLUMNS;

  // Two blocks of a lane (tile_pieces.h). Transforms: first.
  template <bool Transforms, class Two, class Global, class Store>
  DIECAST_DEVICE static void quantize_two(const Two& two, const Square& square, const Global& global, const Store& store) {
    const auto seldom = [&](const Block& block) { return quantize_seldom(block, square.amax, global); };
    if constexpr (kTogether) {
      quantize_together<SQUARE>(two, square.amax, square.ordinary, global, seldom, store);
    } else {
      Block block = two.block(0);
      const Block other = two.block(1);
      DIECAST_NO_UNROLL
      for (int i = 0; i < 2; ++i, block = other) {
        if constexpr (Transforms) block = transform(block);
        if constexpr (kOrdinary) {
          store(i, quantize_one(block, global, seldom));
        } else {
          store(i, Recipe::quantize(block, SQUARE ? square.amax : Recipe::amax(block), global));
        }
      }
    }
  }

  DIECAST_DEVICE static Block loaded(const Piece& piece, bool of_row, int i, bool transforms) {
    return block_of(piece, of_row, i, transforms);
  }
  DIECAST_DEVICE static f32 amax(const Block& block, bool keeps_nan) {
    return keeps_nan ? amax_with_nan(block) : Recipe::amax(block);
  }

  // A line of a square under one of both scales, and its error.
  template <class Global>
  DIECAST_DEVICE static Nvfp4Block tried(const Block& block, f32 amax, bool four, const Global& global, f32& error) {
    Nvfp4Block out = {};
    if constexpr (kFourOverSix) {
      const auto candidate = four_over_six_once<kSquares, BOUND>(block, amax, four, global);
      error = candidate.error, out = candidate.block;
    }
    return out;
  }

  // Block `at` of line `line` of `out`; of squares that are tried it is there already.
  template <class Global>
  DIECAST_DEVICE static Nvfp4Block quantized(const Block& block, const Square& square, const Global& of_all, const Output& out,
                                             int line, int at, Nvfp4Block found) {
    const auto global = ROW_SCALE ? global_of(out.amax_of_line(line)) : of_all;
    if constexpr (kOrdinary) {
      const OrdinaryScale by(SQUARE ? square.amax : amax_with_nan(block), global);
      found.scale = by.scale;
      if (by.is_ordinary && (!SQUARE || square.ordinary)) {
        ordinary_codes(block, by.factor, found.codes);
      } else {
        found = quantize_seldom(block, square.amax, global);
      }
    } else if constexpr (BLOCK_AMAX) {
      found = quantize_seldom(block, out.amax_of_block(line, at), global, out, out.index(line, at));
    } else if constexpr (!kTries) {
      found = quantize_seldom(block, square.amax, global, out, out.index(line, at));
    } else if constexpr (STOCHASTIC) {
      found = rounded(block, global, out, out.index(line, at), found);
    }
    return found;
  }
};

// A thread block takes one tile after another.
DIECAST_KERNEL {
  __shared__ Vector<16> staged[(COLUMNWISE || !kPlain) && !STRIPED ? THREADS / 32 * Piece::kWords / 4 : 1];
  __shared__ TileSide<kPlain ? 16 : kTileCols> side_to;
  __shared__ TileColumns<COLUMNWISE && kPlain && !STRIPED ? kTileCols : 2> columns;
  __shared__ TileScales<COLUMNWISE && kPlain ? kTileCols : 1, kStripes> scales_down;
  __shared__ TileScales<kBoth && kPlain && !(STRIPED && LINEAR) ? kTileRows : 1, kTileCols / 16> scales_across;
  __shared__ TieFactors ties[kTies ? 2 : 1];
  // First of all, for what is made of them is awaited.
  const f32 row_amax = kTies ? *amax : 0.0f, col_amax = kTies ? *amax_t : 0.0f;
  const Piece piece{staged->words + (COLUMNWISE || !kPlain ? threadIdx.x / 32 * Piece::kWords : 0)};
  const MemberSide rowwise = side_of(codes, scales, amax, scales_stride);
  const MemberSide columnwise = side_of(codes_t, scales_t, amax_t, pitch_t != 0 ? pitch_t : ceil_div(rows, 16));
  const Member whole = {reinterpret_cast<u64>(x), 0, rows, x_stride, rowwise, columnwise};
  decltype(global_of(0)) of_rows = {}, of_columns = {};
  if constexpr (!GROUPED && !kBoth && kPlain) find_globals(whole, of_rows, of_columns);
  const u32 row_tiles = static_cast<u32>(ceil_div(cols, kTileCols));
  DIECAST_NO_UNROLL
  for (GroupWalk<GROUPED, GROUPED && BLOCK_AMAX> at{reinterpret_cast<const Member*>(members), count, rows, blockIdx.x, gridDim.x};
       at.find<kRows>(row_tiles); at.next()) {
    const Member m = GROUPED ? at.members[at.place.member] : whole;
    if constexpr (GROUPED && !kBoth && kPlain) find_globals(m, of_rows, of_columns);
    const bool in_band = STRIPED && in_bands(at.row, at.piece, static_cast<u32>(ceil_div(m.rows, kTileRows)), row_tiles);
    const i64 row = i64{at.row} * kRows, col = i64{at.piece} * kTileCols, row_blocks = ceil_div(cols, 16),
              col_blocks = ceil_div(m.rows, 16);
    const int in_rows = static_cast<int>(min(m.rows - row, i64{kRows})),
              in_cols = static_cast<int>(min(cols - col, i64{kTileCols}));
    const auto output = [&](bool turned) {
      const f32* const given = turned ? block_amax_t + at.place.sixteens * (SQUARE ? row_blocks : cols)
                                      : block_amax + (SQUARE ? at.place.sixteens : m.row_begin) * row_blocks;
      return Output(rng, turned ? m.columnwise : m.rowwise, given, turned ? col_blocks : row_blocks, turned ? col : row,
                    (turned ? row : col) / 16, turned ? in_cols : in_rows, turned ? in_rows : in_cols, turned,
                    kLow && m.rows - row > kRows);
    };
    const IN* from = reinterpret_cast<const IN*>(m.matrix) + row * m.stride + col;
    if constexpr (!kPlain) {
      DIECAST_NO_UNROLL
      for (int side = ROWWISE ? 0 : 1; side < (COLUMNWISE ? 2 : 1); ++side) {
        const auto of_all = global_at(side == 0 ? m.rowwise.amax : m.columnwise.amax);
        quantize_side<Way, THREADS>(side, from, m.stride, in_rows, in_cols, output(side == 1), of_all, piece, side_to);
      }
    } else if constexpr (STRIPED) {
      const auto seldom = [&](const Block& block, const auto& global) { return quantize_seldom(block, 0.0f, global); };
      const auto quantize = [&](const auto& by_rows, const auto& by_columns, const auto& find) -> void {
        const int cluster_blocks =
            in_band ? static_cast<int>(min(col_blocks - at.row / CLUSTER * CLUSTER * kStripes, i64{CLUSTER * kStripes})) : 0;
        quantize_stripes<Element, THREADS, CLUSTER>(from, m.stride * sizeof(IN), output(false), output(true), scales_across,
                                                    scales_down, by_rows, by_columns, find, seldom, cluster_blocks);
      };
      under_globals<kTies>(m, row_amax, col_amax, of_rows, of_columns, ties, quantize);
    } else {
      const auto find = [&] { find_globals(m, of_rows, of_columns); };
      quantize_pieces<Way, THREADS>(from, m.stride, output(false), output(true), columns, scales_across, scales_down, of_rows,
                                    of_columns, find, piece);
    }
  }
}
