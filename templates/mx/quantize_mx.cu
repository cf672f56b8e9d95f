// quantize_mx: a row-major [rows, cols] matrix to MXFP8 (E4M3 or E5M2) or MXFP4: every 32 neighbours
// of a row become FP8 bytes or E2M1 codes, two a byte, and share one E8M0 scale. A row's last block
// is padded with zeros; padding of the scale layout is written as zeros.
// ROWS_apart: whole halves of blocks, every row from a multiple of 16 bytes on. ROWS_any: nothing is
// known.
// PROFILE_te defines MXFP8 in MODE_rceil; PROFILE_torchao defines all formats in all modes;
// PROFILE_modelopt defines MXFP4 of bf16.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {apart, any} = apart              // what is known of the rows, see above
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
use      <diecast/device/mx/mx_options.h>                // FORMAT, MODE
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
use      <diecast/device/blocks/profiles.h>              // PROFILE
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 256} = 256             // the most thread blocks a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : 16)
arg      x      in   IN    [rows, cols]  stride  align (ROWS == any ? bits(IN) / 8 : 16)
arg      codes  out  u8    [rows, FOUR_BIT ? align_up(cols, 32) / 2 : cols]  align (ROWS == any && !FOUR_BIT ? 1 : 16)
arg      scales out  e8m0  [align_up(rows, SCALE_ROWS), align_up(ceil_div(cols, 32), SCALE_COLS)]  stride (SCALES_APART)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LINEAR                         // tiles of scales lie one behind another: only linear rows can be apart
require  PROFILE != te || !FOUR_BIT                      // MXFP4 is defined by PROFILE=torchao, and of bf16 by PROFILE=modelopt
require  PROFILE != modelopt || (FOUR_BIT && IN == bf16) // PROFILE=modelopt defines MXFP4 of bf16: FORMAT=mxfp4 IN=bf16
launch   grid(min(ceil_div(align_up(rows, SCALE_ROWS) * align_up(ceil_div(cols, 32), SCALE_COLS) * (host ? 16 : 35), THREADS * 16),
                  sm_count * waves)) block(THREADS)      // two threads a block, and for 30 of a warp 32
launch   dependent
exchange none                                            // on the host, where a thread takes whole blocks
sample   COLS {0, 96}  rows {0, 1, 7, 33, 130}  cols {1, 31, 32, 80, 96, 2100}
*/
#include <diecast/device/mx/mx_block.h>
#include <diecast/device/threads/dependent.h>
#include <diecast/device/threads/row_walk.h>

using Format = Mx<FORMAT, MODE, PROFILE != PROFILE_te, PROFILE == PROFILE_modelopt>;
// Two threads a block of 32, so that a warp writes lines of codes; on the host one does it all.
constexpr int kLanes = DIECAST_HOST ? 1 : 2;
constexpr int kElements = 32 / kLanes;
using Block = MxBlock<Format, IN, ROWS == ROWS_any ? 0 : COLS != 0 && COLS % 32 == 0 ? 32 : 16, kLanes>;
using Half = MxBlock<Format, IN, 16, 2>;
using Scales = ScaleLayout<LAYOUT>;

// A matrix without gaps: halves of blocks, one or more, one after another, of which a row has `row_halves`. A lane loads its
// half before it knows whose it is; where a row's last half is alone, a warp's first and last lane load for their neighbours
// only.
DIECAST_DEVICE void quantize_halves(const IN* x, u8* codes, e8m0* scales, i64 halves, u32 row_halves, u32 thread) {
  const u32 odd = row_halves % 2, lane = thread % 32, lanes = 32 - 2 * odd;
  const u32 step = gridDim.x * (THREADS / 32) * lanes;
  i64 half = i64{thread / 32 * lanes + lane} - odd;
  DIECAST_NO_UNROLL
  do {
    const bool there = static_cast<u64>(half) < static_cast<u64>(halves);
    Half block(x + (there ? half : 0) * 16, 16);
    i64 whole = half;  // that half where rows are whole blocks
    bool alone = false;
    if (odd != 0) {
      const u32 nth = static_cast<u32>(half), row = nth / row_halves;
      whole += row, alone = nth - row * row_halves == row_halves - 1;
    }
    const u32 other = lane + 1 - 2 * (static_cast<u32>(whole) % 2);
    const bool mine = there && lane - odd < lanes;
    u32 largest = block.own_largest();
    const u32 of_other = __shfl_sync(0xFFFFFFFFu, largest, other);
    largest = max(largest, alone ? 0 : of_other);
    next_may_begin(largest);
    const e8m0 scale = Format::scale(largest);
    const f32 factor = reciprocal_of_e8m0(scale);
    if constexpr (Format::kFourBit) {
      u8* to = codes + whole * 8;
      DIECAST_NO_UNROLL
      for (int n = mine ? alone ? 2 : 1 : 0; n > 0; --n, to += 8, block = Half()) block.store(to, 16, factor);  // and its padding
    } else {
      block.store(codes + half * 16, mine ? 16 : 0, factor);
    }
    if (mine && whole % 2 == 0) scales[whole / 2] = scale;
    half += step;
  } while (half - lane < halves);
}

DIECAST_KERNEL {
  const u32 thread = blockIdx.x * THREADS + threadIdx.x, lane = thread % kLanes;
  if constexpr (ROWS == ROWS_apart && LINEAR && !SCALES_APART && !DIECAST_HOST) {
    const i64 row_halves = cols / 16, halves = rows * row_halves;
    if (x_stride == cols && halves > 0 && (row_halves % 2 == 0 || halves < 0x100000000ll)) {
      quantize_halves(x, codes, scales, halves, static_cast<u32>(row_halves), thread);
      return;
    }
  }
  const i64 row_blocks = ceil_div(cols, 32);
  const i64 row_bytes = Format::kFourBit ? row_blocks * 16 : cols;
  const i64 padded_blocks = Scales::padded_cols(row_blocks);
  const i64 padded_rows = Scales::padded_rows(rows);
  DIECAST_NO_UNROLL
  for (RowWalk at(padded_blocks, padded_rows, thread / kLanes, gridDim.x * (THREADS / kLanes), COLS != 0); at.row < padded_rows;
       at.next()) {
    e8m0 scale = {0};
    if (at.row < rows && at.piece < row_blocks) {
      const i64 first = at.piece * 32 + lane * kElements;
      const Block block(x + at.row * x_stride + first, cols - first);
      u32 largest = block.largest();
      next_may_begin(largest);
      scale = Format::scale(largest);
      block.store(codes + at.row * row_bytes + (Format::kFourBit ? first / 2 : first), cols - first, reciprocal_of_e8m0(scale));
    }
    if (lane == 0) scales[Scales::offset(at.row, at.piece, scales_stride)] = scale;
  }
}
