// quantize_nvfp4: a row-major [rows, cols] matrix to NVFP4 under a global scale that is given, one for
// the whole tensor or one a row. Every BLOCK neighbours of a row become E2M1 codes, two a byte and the
// first in the low nibble, and one E4M3 block scale. A row's last block is padded with zeros.
// ROWS_dense: whole blocks of 16, row after row without a gap, from a multiple of 16 bytes on.
// ROWS_apart: whole blocks, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
// What each PROFILE makes of the options stands in PROFILES.md. s128x4 and s8x4 scales are padded to
// whole tiles, and the padding is written: zeros.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {dense, apart, any} = dense       // what is known of the rows, see above
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
option   int   BLOCK   {16} = 16                         // neighbours that share one scale
use      <diecast/device/nvfp4/nvfp4_options.h>          // PROFILE, GLOBAL, ROW_SCALE, LAYOUT, FOUR_OVER_SIX, BOUND, BLOCK_AMAX
option   bool  RHT     = false                           // x is transformed first
use      <diecast/device/blocks/hadamard.h>              // SIGN_MASK
option   bool  STOCHASTIC = false                        // codes are rounded by random numbers (stochastic.h)
tune     int   THREADS {128, 256} = 128
tune     int   waves   {1, 8, 64, 128, 256} = 256        // the most thread blocks a multiprocessor gets; 128 where launch says so
let      TRANSFORMED = RHT
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : BLOCK)
arg      x      in   IN    [rows, cols]  stride (ROWS != dense)  align (ROWS == any ? bits(IN) / 8 : 16)
arg      amax   in   f32   [GLOBAL == none ? 0 : ROW_SCALE ? rows : 1]
arg      codes  out  u8    [rows, align_up(cols, BLOCK) / 2]  align 8
arg      scales out  e4m3  [LINEAR ? rows : 1,           // tiles: all as one row
                            LINEAR ? ceil_div(cols, BLOCK) : align_up(rows, SCALE_ROWS) * align_up(ceil_div(cols, BLOCK), SCALE_COLS)
                           ]  stride (SCALES_APART)  align (LINEAR ? 1 : 16)
arg      rows
arg      cols
arg      block_amax in f32 [BLOCK_AMAX ? rows : 0, ceil_div(cols, BLOCK)]
arg      rng    in   i64   [STOCHASTIC ? 2 : 0]          // {seed, offset}
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LINEAR                         // tiles of scales lie one behind another: only linear rows can be apart
require  PROFILE != te_fast || (IN == bf16 && GLOBAL == amax && !RHT)  // profile te_fast is defined for bf16 under an amax, not transformed
require  (!FLASHINFER ||                                 // FlashInfer's profiles are defined for bf16 and f16,
          (bits(IN) == 16 && !RHT && !STOCHASTIC))       // not transformed, rounded to nearest
require  (!FLASHINFER ||                                 // FlashInfer's profiles are defined under one encode scale,
          GLOBAL == (ROW_SCALE ? amax : encode))         // or with ROW_SCALE under the row's amax
require  (!FLASHINFER_DSL ||                             // a scale a row is defined by flashinfer_exact and flashinfer_fast,
          !ROW_SCALE)                                    // and not by the CuTe-DSL ones
require  (!host ||                                       // FlashInfer's fast profiles take the GPU's approximate reciprocal:
          !PROFILE in {flashinfer_fast, flashinfer_dsl_fast})  // a GPU target, or flashinfer_exact and flashinfer_dsl_exact
launch   grid(min(ceil_div(align_up(rows, SCALE_ROWS) * align_up(ceil_div(cols, BLOCK), SCALE_COLS), THREADS),
                  sm_count * (LINEAR && !STOCHASTIC ? waves : min(waves, 128)))) block(THREADS)
launch   resident(FOUR_OVER_SIX != off && STOCHASTIC ? 3 : 0)  // more registers, of which newer targets would spill some
launch   dependent
exchange none                                            // threads never wait for one another
sample   COLS {0, 80}  rows {0, 1, 7, 33, 130}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/blocks/block16.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/nvfp4_recipe.h>
#include <diecast/device/scales/scale_sector.h>
#include <diecast/device/threads/row_walk.h>

using Recipe = Nvfp4Recipe<PROFILE, GLOBAL, FOUR_OVER_SIX, BOUND, BLOCK_AMAX>;
using Layout = ScaleLayout<LAYOUT>;
using Sector = ScaleSector<LAYOUT>;

// Rows and scales without gaps.
constexpr bool kDense = ROWS == ROWS_dense && LINEAR && !SCALES_APART && !ROW_SCALE;

// Ways of threads through the blocks of 16, each as a template: only the one that is taken is compiled. `quantize` gives a
// block's scale.
// Rows without gaps: the next block is on its way while one is quantized.
template <class Quantize>
DIECAST_DEVICE void walk_dense(const IN* x, e4m3* scales, i64 blocks, u32 thread, u32 threads, f32 of_all,
                               const Quantize& quantize) {
  const Share share(blocks, thread, threads);
  decltype(load_block16(x)) next = {};
  if (share.first < share.last) next = load_block16(x + share.first * BLOCK);
  const auto global = Recipe::global(of_all);  // while the first is on its way
  DIECAST_NO_UNROLL
  for (i64 i = share.first; i < share.last;) {
    scales[i] = quantize(next, i, global);
    i += share.step;
    if (i < share.last) next = load_block16(x + i * BLOCK);
  }
}

// Tiled scales: a thread takes its column of a sector, eight rows, where there are more blocks than threads.
template <class ScaleOf>
DIECAST_DEVICE void walk_sectors(e4m3* scales, i64 rows, i64 row_blocks, u32 thread, u32 threads, const ScaleOf& scale_of) {
  const i64 places = Layout::padded_rows(rows) * Layout::padded_cols(row_blocks);
  const u32 row_places = static_cast<u32>(Layout::padded_cols(row_blocks));
  const bool whole = threads < places;
  const u32 units = static_cast<u32>(whole ? places / Sector::kRows : places);
  DIECAST_NO_UNROLL
  for (u32 unit = thread; unit < units; unit += threads) {
    const u32 group = unit / row_places, piece = unit - group * row_places;
    const i64 row = whole ? Sector::row(group, 0) : group;
    Sector sector;
    DIECAST_NO_UNROLL
    for (u32 nth = 0; nth < (whole ? Sector::kRows : 1); ++nth) {
      const i64 of_row = row + Sector::row(0, nth);
      sector.put(scale_of(of_row, piece, of_row * row_blocks + piece));
    }
    e4m3* const at = scales + Layout::offset(row, piece, row_places);
    if (whole)
      sector.store(at - piece % 4);
    else
      *at = sector.last();
  }
}

template <class ScaleOf>
DIECAST_DEVICE void walk_rows(e4m3* scales, i64 stride, i64 rows, i64 row_blocks, u32 thread, u32 threads,
                              const ScaleOf& scale_of) {
  const i64 pitch = LINEAR ? stride : Layout::padded_cols(row_blocks);
  DIECAST_NO_UNROLL
  for (RowWalk at(Layout::padded_cols(row_blocks), Layout::padded_rows(rows), thread, threads, COLS != 0);
       at.row < Layout::padded_rows(rows); at.next()) {
    const i64 index = LINEAR ? at.index : at.row * row_blocks + at.piece;
    scales[Layout::offset(at.row, at.piece, pitch)] = scale_of(at.row, at.piece, index);
  }
}

// One thread a block of 16.
DIECAST_KERNEL {
  const auto random = randomness<STOCHASTIC>(rng, 0, false);
  const f32 of_all = GLOBAL == GLOBAL_none || ROW_SCALE ? 1.0f : amax[0];
  const u32 thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  const i64 row_blocks = ceil_div(cols, BLOCK);
  // `index`: of the block, as codes lie.
  const auto quantize = [&](auto block, i64 index, const auto& global) DIECAST_INLINED {
    if constexpr (RHT) block = hadamard16(block, SIGN_MASK);
    Nvfp4Block out = BLOCK_AMAX ? Recipe::quantize(block, block_amax[index], global)
                                : Recipe::quantize_amid<(RHT || STOCHASTIC)>(
                                      block, FOUR_OVER_SIX != FOUR_OVER_SIX_off ? 0.0f : Recipe::amax(block), global);
    if constexpr (STOCHASTIC) Recipe::round(block, global, random, index, out);
    store_streaming<8>(codes + 8 * index, {{out.codes[0], out.codes[1]}});
    return out.scale;
  };
  if constexpr (kDense) {
    walk_dense(x, scales, rows * row_blocks, thread, threads, of_all, quantize);
  } else {
    const auto of_tensor = Recipe::global(of_all);
    // Zero in the padding of tiles.
    const auto scale_of = [&](i64 row, i64 piece, i64 index) DIECAST_INLINED {
      if (!LINEAR && (row >= rows || piece >= row_blocks)) return e4m3{0};
      const i64 first = piece * BLOCK;
      const IN* from = x + row * x_stride + first;
      const auto block = ROWS == ROWS_any ? load_block16_elements(from, cols - first) : load_block16(from);
      return quantize(block, index, ROW_SCALE ? Recipe::global(amax[row]) : of_tensor);
    };
    if constexpr (Sector::kUsed)
      walk_sectors(scales, rows, row_blocks, thread, threads, scale_of);
    else
      walk_rows(scales, scales_stride, rows, row_blocks, thread, threads, scale_of);
  }
}
