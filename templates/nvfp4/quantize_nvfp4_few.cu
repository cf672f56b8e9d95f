// quantize_nvfp4_few: the bits of quantize_nvfp4 in profile te under one amax that is given, for whole
// blocks of 16, row after row without a gap, from a multiple of 16 bytes on; with tiled scales, whose
// padding it writes, for rows of a known length.
// A thread takes what it takes once, without a loop. Where all of a matrix is on the GPU at once a launch is one wait for
// memory: of few blocks LANES neighbours take one together, each its share, so that what each computes between its loads and
// its stores is short; of more a thread takes one or two, so that all of them are one wave. Places are found in 32 bits: the
// grid is along y, where a launch has 65535 thread blocks at most, and more is refused.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
tune     int   LANES   {1, 2} = 2                        // threads of a block of 16
tune     int   THREADS {128, 256, 384, 512, 640, 768, 896, 1024} = 128
tune     int   BLOCKS  {1, 2} = 1                        // blocks of 16 that a thread takes, one after the other
size     rows
size     cols  = COLS  divisible 16
arg      x      in   IN    [rows, cols]  align 16
arg      amax   in   f32   [1]
arg      codes  out  u8    [rows, align_up(cols, 16) / 2]  align 8
arg      scales out  e4m3  [LINEAR ? rows : 1,           // tiles: all as one row
                            LINEAR ? cols / 16 : align_up(rows, SCALE_ROWS) * align_up(cols / 16, SCALE_COLS)]  align (LINEAR ? 1 : 16)
arg      rows
arg      cols
launch   grid(1, ceil_div(rows * (cols / 16) * LANES +
                          (LINEAR || rows % SCALE_ROWS == 0 ? 0 : SCALE_ROWS / 4 * ceil_div(cols, 64)), THREADS * BLOCKS)) block(THREADS)
launch   dependent(late)
launch   resident(LANES == 1 && cc in {80, 90} ? (BLOCKS == 1 ? 2048 : IN in {f32, f16} ? 1024 : 1536) / THREADS : 0)
exchange none                                            // on the host a thread loads all of its block
require  BLOCKS == 1 || LANES == 1                       // neighbours share a block, or a thread has several
require  LINEAR || COLS > 0                              // where a block's scale lies is found without a division
sample   COLS {0, 80}  rows {0, 1, 7, 33, 130}  cols {16, 80, 2112}
*/
#include <diecast/device/blocks/block16.h>
#include <diecast/device/nvfp4/nvfp4_share.h>
#include <diecast/device/scales/scale_padding.h>
#include <diecast/device/threads/dependent.h>

using Scales = ScaleLayout<LAYOUT>;
constexpr i64 kRowBlocks = (COLS > 0 ? COLS : 16) / 16, kPaddedBlocks = align_up(kRowBlocks, Scales::kTileCols);

// Everything is on its way, and where it goes is known, before anything is waited for. Where LANES share a block, that is
// before the launch before has ended, and the next may begin once elements are here; a thread that has a block for itself
// is one of many, and lets the next begin when its codes are there, or they would be in each other's way. What a block becomes
// is stored before the next one is looked at: stores are then on their way while there is something to compute.
DIECAST_KERNEL {
  using Share = ShareOfBlock<IN, LANES>;
  if constexpr (LANES == 1) launch_before_ended();
  const u32 part = blockIdx.y * (THREADS * BLOCKS) + threadIdx.x, lane = part % LANES, first = part / LANES;
  const u32 blocks = static_cast<u32>(rows) * (static_cast<u32>(cols) / 16);
  const IN* from[BLOCKS];
  DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b) {
    const u32 there = min(first + b * THREADS, blocks - 1);
    from[b] = x + u64{Share::kWhole ? there * 16 : (there * LANES + lane) * (16 / LANES)};
  }
  u8* to = codes + u64{part} * (8 / LANES);
  e4m3* scale = scales + first;
  const f32* of_all = amax;
  now(from[0]), now(to), now(scale);
  if constexpr (LANES > 1) launch_before_ended(from[0]), now(of_all);
  if constexpr (!LINEAR) {
    DIECAST_NO_UNROLL
    for (u32 index = first; index < first + BLOCKS * THREADS; index += THREADS) {
      if (index >= blocks) pad_last_tiles<LAYOUT>(scales, rows, kRowBlocks, (index - blocks) * LANES + lane);
    }
    if (first >= blocks) return;
  }
  const f32 of_tensor = *of_all;
  Share share[BLOCKS];
  DIECAST_UNROLL
  for (int b = 0; b < BLOCKS; ++b) share[b] = Share(from[b], lane);
  constexpr bool kNan = kHasShortWay<IN, LANES>;
  const UnderAmax under(of_tensor);
  DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b) {
    const u32 index = first + b * THREADS;
    e4m3* at = scale + b * THREADS;
    i64 padding = 0;  // behind a row's last block
    if constexpr (!LINEAR) {
      const i64 row = index / kRowBlocks, col = index % kRowBlocks;
      at = scales + Scales::offset(row, col, kPaddedBlocks);
      if (col + 1 == kRowBlocks) padding = kPaddedBlocks - kRowBlocks;
      now(at);
    }
    f32 of_block = Share::amax(share[b].template largest<kNan>());
    if constexpr (LANES > 1) next_may_begin(of_block);
    auto out =
        quantize_share<IN, LANES, kNan>(from[b] - (Share::kWhole ? 0 : lane * (16 / LANES)), lane, share[b], of_block, under);
    if constexpr (LANES == 1)
      if (b + 1 == BLOCKS) next_may_begin(out.codes);
    if (index >= blocks) return;
    out.store_codes(to + u64{b} * THREADS * 8);
    if (lane != 0) return;
    *at = out.scale;
    DIECAST_UNROLL
    for (int i = 1; i < Scales::kTileCols; ++i) {
      if (i <= padding) at[i] = {0};
    }
  }
}
