// quantize_nvfp4_row_scaled: a row-major [rows, cols] matrix to NVFP4 with one amax a row, which this
// kernel finds itself: the row is read, its amax reduced, and its blocks quantized in one pass.
// ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
// What each PROFILE makes of the options stands in PROFILES.md. s128x4 and s8x4 scales are padded to
// whole tiles, and the padding is written: zeros.
/* diecast
shape    int   COLS         = 0                          // row length; 0 = not fixed at compile time
shape    enum  ROWS         {apart, any} = apart         // what is known of the rows, see above
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  IN           {bf16, f16, f32, e4m3}       // element type of x
option   int   BLOCK        {16} = 16                    // neighbours that share one scale
use      <diecast/device/blocks/profiles.h>              // PROFILE
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
use      <diecast/device/nvfp4/four_over_six_options.h>  // FOUR_OVER_SIX, BOUND
option   bool  RHT          = false                      // x is transformed first
use      <diecast/device/blocks/hadamard.h>              // SIGN_MASK
option   bool  STOCHASTIC   = false                      // codes are rounded by random numbers (stochastic.h)
tune     int   THREADS      {32, 64, 128, 256, 512} = 256  // of a thread block
tune     int   ROWS_AT_ONCE {1, 4, 8, 16, 32} = 1        // rows that they take side by side: short ones
tune     int   HELD         {0, 4} = 4                   // the most 32-byte pieces of a row that a thread keeps in registers
tune     int   waves        {1, 8, 64, 128, 256} = 256   // the most thread blocks a multiprocessor gets
let      TRANSFORMED = RHT
let      ROW_THREADS   = THREADS / ROWS_AT_ONCE          // threads of a row
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : BLOCK)
arg      x      in   IN    [rows, cols]  stride  align (ROWS == any ? bits(IN) / 8 : 16)
arg      amax   out  f32   [rows]
arg      codes  out  u8    [rows, align_up(cols, BLOCK) / 2]  align 8
arg      scales out  e4m3  [align_up(rows, SCALE_ROWS), align_up(ceil_div(cols, BLOCK), SCALE_COLS)]  stride (SCALES_APART)
arg      rows
arg      cols
arg      rng    in   i64   [STOCHASTIC ? 2 : 0]          // {seed, offset}
require  THREADS % 32 == 0                               // whole warps
require  (ROWS_AT_ONCE == 1 || (ROW_THREADS >= 1 && ROW_THREADS <= 32 &&  // rows side by side are held by threads of one warp each:
                        HELD == 4 && ROWS == apart &&    // ROWS_AT_ONCE=1, or a shorter COLS
                        COLS > 0 && COLS <= (bits(IN) == 32 ? 1 : 2) * BLOCK * ROW_THREADS))
require  !SCALES_APART || LINEAR                         // tiles of scales lie one behind another: only linear rows can be apart
require  PROFILE != te_fast || (IN == bf16 && !RHT)      // profile te_fast is defined for bf16, not transformed
require  (!FLASHINFER ||                                 // FlashInfer's profiles are defined for bf16 and f16,
          (bits(IN) == 16 && !RHT && !STOCHASTIC))       // not transformed, rounded to nearest
require  !FLASHINFER_DSL  // a scale a row is defined by flashinfer_exact and flashinfer_fast, and not by the CuTe-DSL ones
require  (!host ||                                       // profile flashinfer_fast takes the GPU's approximate reciprocal:
          PROFILE != flashinfer_fast)                    // a GPU target, or flashinfer_exact
launch   grid(min(ceil_div(align_up(rows, SCALE_ROWS), ROWS_AT_ONCE), sm_count * waves)) block(THREADS)
launch   resident(FOUR_OVER_SIX == off && !RHT && !STOCHASTIC ? min(16, 1024 / THREADS) : 1)
launch   dependent
exchange block                                           // a row's amax is reduced by all its threads
sample   COLS {0, 80}  rows {0, 1, 7, 33, 130}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/blocks/block16.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/nvfp4_recipe.h>
#include <diecast/device/threads/reduce.h>

using Recipe = Nvfp4Recipe<PROFILE, GLOBAL_amax, FOUR_OVER_SIX, BOUND, false>;
using Layout = ScaleLayout<LAYOUT>;
using Block = LoadedBlock16<IN>;

// Threads that share a row are neighbours in a warp where rows lie side by side.
DIECAST_DEVICE u32 lane() { return ROWS_AT_ONCE > 1 ? threadIdx.x % ROW_THREADS : threadIdx.x; }
DIECAST_DEVICE u32 row_at_once() { return ROWS_AT_ONCE > 1 ? threadIdx.x / ROW_THREADS : 0; }

// Blocks that a thread keeps from the amax to the codes: all its share of a row whose length is known
// and fits, else none, and the row is read a second time, as rows are that nothing is known of.
constexpr int kShare = static_cast<int>(ceil_div(COLS, BLOCK* ROW_THREADS));
constexpr int kHeld = ROWS != ROWS_any && kShare * Block::kWords <= HELD * 8 ? kShare : 0;
constexpr bool kEqualShares = ROWS_AT_ONCE == 1 && COLS % (BLOCK * THREADS) == 0;

// Transforms are long code: compiled once, and as a template only where one is called.
template <class From>
DIECAST_DEVICE_CALL Block transformed_block(const From* from, i64 count) {
  const auto block = ROWS == ROWS_any ? load_block16_elements(from, count) : load_block16(from);
  return hadamard16(block, SIGN_MASK);
}

DIECAST_DEVICE Block block_of(const IN* row, u32 i, i64 row_cols) {
  const IN* from = row + i64{i} * BLOCK;
  if constexpr (RHT) {
    return transformed_block(from, row_cols - i64{i} * BLOCK);
  } else if constexpr (ROWS == ROWS_any) {
    return load_block16_elements(from, row_cols - i64{i} * BLOCK);
  } else {
    return load_block16(from);
  }
}

// Where a row's codes and scales begin; of either, block i's place follows from i alone. A row past
// the last, beside which others lie, has no blocks.
struct RowOutput : Randomness<STOCHASTIC> {
  u8* codes;
  e4m3* scales;
  u32 blocks;
};

DIECAST_DEVICE f32 larger(f32 a, f32 b) { return Recipe::kIgnoresNan ? fmaxf(a, b) : max_or_nan(a, b); }

template <class Global>
DIECAST_DEVICE void quantize_block(const Block& block, f32 block_amax, u32 i, const Global& global, const RowOutput& to) {
  Nvfp4Block out = Recipe::quantize_amid<(RHT || STOCHASTIC)>(block, block_amax, global);
  if constexpr (STOCHASTIC) Recipe::round(block, global, to, i, out);
  store_streaming<8>(to.codes + i64{8} * i, {{out.codes[0], out.codes[1]}});
  to.scales[Layout::offset(0, i, 0)] = out.scale;
}

// Compiled once and called for every block held, if there are several; it comes by value: in registers.
template <class Global>
DIECAST_DEVICE_CALL void quantize_held_block(Block block, f32 amax, u32 i, Global global, RowOutput to) {
  if (kEqualShares || i < to.blocks) quantize_block(block, amax, i, global, to);
}

// Past a row's end a thread takes its last block: once more in a maximum, and quantized by its owner.
DIECAST_DEVICE void quantize_held_row(const IN* from, f32* to_amax, const RowOutput& to, i64 row_cols, u32 turn) {
  constexpr u32 kLast = COLS > 0 ? COLS / BLOCK - 1 : 0;
  Block held[kHeld > 0 ? kHeld : 1];
  f32 found = 0.0f, of_block[kHeld > 0 ? kHeld : 1];
  DIECAST_UNROLL
  for (int h = 0; h < kHeld; ++h) {
    if constexpr (kEqualShares)
      held[h] = block_of(from + i64{lane()} * BLOCK, h * ROW_THREADS, row_cols);
    else
      held[h] = block_of(from, min(lane() + h * ROW_THREADS, kLast), row_cols);
  }
  DIECAST_UNROLL
  for (int h = 0; h < kHeld; ++h) {
    of_block[h] = Recipe::amax(held[h]);
    found = larger(found, of_block[h]);
  }
  if constexpr (ROWS_AT_ONCE > 1)
    found = lanes_reduce_max<ROW_THREADS>(found);
  else
    found = block_reduce_max<THREADS>(found, turn);
  if (lane() == 0 && (ROWS_AT_ONCE == 1 || to.blocks > 0)) *to_amax = found;
  const auto global = Recipe::global(found);
  if constexpr (kHeld == 1) {
    if (kEqualShares || lane() < to.blocks) quantize_block(held[0], of_block[0], lane(), global, to);
  } else {
    DIECAST_UNROLL
    for (int h = 0; h < kHeld; ++h) quantize_held_block(held[h], of_block[h], lane() + h * ROW_THREADS, global, to);
  }
}

// The row is read twice by one loop: what is compiled once is in the binary once. On the host, where
// threads run one after another, the first takes the row in order and none waits.
DIECAST_DEVICE void quantize_row(const IN* from, f32* to_amax, const RowOutput& to, i64 row_cols, u32 turn) {
  constexpr u32 kStep = DIECAST_HOST ? 1 : THREADS;
  if (DIECAST_HOST && threadIdx.x != 0) return;
  f32 found = 0.0f;
  decltype(Recipe::global(found)) global = {};
  DIECAST_NO_UNROLL
  for (int pass = 0; pass < 2; ++pass) {
    DIECAST_NO_UNROLL
    for (u32 i = threadIdx.x; i < to.blocks; i += kStep) {
      const Block block = block_of(from, i, row_cols);
      const f32 of_block = Recipe::amax(block);
      if (pass == 0) {
        found = larger(found, of_block);
      } else {
        quantize_block(block, of_block, i, global, to);
      }
    }
    if (pass == 1) return;
    if constexpr (!DIECAST_HOST) found = block_reduce_max<THREADS>(found, turn);
    if (threadIdx.x == 0) *to_amax = found;
    global = Recipe::global(found);
  }
}

// A thread block takes ROWS_AT_ONCE rows at once; of those past the last it reads the last and writes nothing.
DIECAST_KERNEL {
  const i64 row_blocks = ceil_div(cols, BLOCK);
  u32 turn = 0;
  DIECAST_NO_UNROLL
  for (i64 first = i64{blockIdx.x} * ROWS_AT_ONCE; first < Layout::padded_rows(rows); first += i64{gridDim.x} * ROWS_AT_ONCE) {
    const i64 row = first + row_at_once();
    const i64 read = ROWS_AT_ONCE > 1 ? min(row, rows - 1) : row;
    if (first < rows) {
      const IN* from = x + read * x_stride;
      const RowOutput to = {randomness<STOCHASTIC>(rng, read * row_blocks, false), codes + read * row_blocks * 8,
                            scales + Layout::offset(read, 0, scales_stride),
                            ROWS_AT_ONCE == 1 || row < rows ? static_cast<u32>(row_blocks) : 0};
      if constexpr (kHeld > 0) {
        quantize_held_row(from, amax + read, to, cols, turn);
      } else {
        quantize_row(from, amax + read, to, cols, turn);
      }
      turn ^= 1;
    }
    if constexpr (!LINEAR) {
      const i64 written = row < rows ? row_blocks : 0;
      const i64 end = row < Layout::padded_rows(rows) ? Layout::padded_cols(row_blocks) : 0;
      DIECAST_NO_UNROLL
      for (i64 i = written + lane(); i < end; i += ROW_THREADS) {
        scales[Layout::offset(row, i, scales_stride)] = {0};
      }
    }
  }
}
