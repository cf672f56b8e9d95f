// quantize_nvfp4_row_scaled_few: the bits of quantize_nvfp4_row_scaled in profile te, for whole blocks of 16 and rows of
// a known length, each from a multiple of 16 bytes on; padding of tiled scales is written. Where all of a matrix is on the GPU at
// once a launch is a wait for memory and one for the row's amax: a thread takes a block of 16 or two, each once, as many threads
// as a row needs, and several thread blocks, a cluster, may share a row, so that no multiprocessor has much of it.
/* diecast
shape    int   COLS                                      // row length
option   type  IN           {bf16, f16, f32, e4m3}       // element type of x
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
tune     int   BLOCKS       {1, 2} = 1                   // blocks of 16 that a thread takes, one after the other
tune     int   CLUSTER      {1, 2, 4, 8} = 1             // thread blocks that share a row
tune     int   ROWS_AT_ONCE {1, 2, 4, 8} = 1             // rows side by side in a thread block
tune     enum  NEXT         {elements, amax, codes} = elements  // what is there when the next launch may begin
let      ROW_THREADS = align_up(ceil_div(COLS / 16, BLOCKS * CLUSTER), 32)  // of a thread block, for one row
let      THREADS = ROW_THREADS * ROWS_AT_ONCE
let      HELD_THREADS = BLOCKS == 1 ? (IN == f32 ? 1536 : 2048) : IN in {f32, f16} ? 1024 : 1536  // that a multiprocessor has registers for
size     rows
size     cols  = COLS  divisible 16
arg      x      in   IN    [rows, cols]  stride  align 16
arg      amax   out  f32   [rows]
arg      codes  out  u8    [rows, align_up(cols, 16) / 2]  align 8
arg      scales out  e4m3  [LINEAR ? rows : 1,           // tiles: all as one row
                            LINEAR ? cols / 16 : align_up(rows, SCALE_ROWS) * align_up(cols / 16, SCALE_COLS)]  align (LINEAR ? 1 : 16)
arg      rows
arg      cols
require  COLS > 0                                        // a row has threads enough
require  CLUSTER == 1 || cc >= 90                        // clusters are of 9.0 and later
require  NEXT == elements || cc >= 90                    // before 9.0 the next launch begins when this one has ended
require  THREADS <= 1024                                 // a row has threads enough: more BLOCKS or CLUSTER, less ROWS_AT_ONCE
require  CLUSTER == 1 || ROWS_AT_ONCE == 1               // a row has several thread blocks, or they have several rows
require  CLUSTER == 1 || 32 * CLUSTER < 2 * ceil_div(COLS / 16, BLOCKS)  // no thread block is idle: a smaller CLUSTER
launch   grid((ceil_div(rows, ROWS_AT_ONCE) + (LINEAR || rows % SCALE_ROWS == 0 ? 0 : ceil_div(SCALE_ROWS / 4 * ceil_div(cols, 64),
                                                                                       THREADS * CLUSTER))) * CLUSTER)
launch   block(THREADS) cluster(CLUSTER) dependent(late)
launch   resident(cc in {80, 90} ? min(32, HELD_THREADS / THREADS) : 0)
exchange block                                           // a row's amax is reduced by all its threads
sample   COLS {80, 2112}  rows {0, 1, 7, 33, 130}
*/
#include <diecast/device/blocks/block16.h>
#include <diecast/device/nvfp4/nvfp4_share.h>
#include <diecast/device/scales/scale_padding.h>
#include <diecast/device/threads/cluster.h>
#include <diecast/device/threads/dependent.h>

using Scales = ScaleLayout<LAYOUT>;

// The last threads of a row have no block: they take the last one's place in the amax, and write nothing. Behind the rows
// come clusters for the padding. What a block becomes is stored before the next one is looked at: stores are then on their way
// while there is something to compute.
DIECAST_KERNEL {
  constexpr u32 kBlocks = COLS / 16, kThreads = ROW_THREADS;
  constexpr u32 kStep = kThreads * CLUSTER;  // from one block of a thread to the next
  constexpr i64 kPaddedBlocks = align_up(i64{kBlocks}, Scales::kTileCols);
  const i64 its = ROWS_AT_ONCE == 1 ? blockIdx.x / CLUSTER : i64{blockIdx.x} * ROWS_AT_ONCE + threadIdx.x / kThreads;
  const u32 thread = cluster_rank<CLUSTER>() * kThreads + threadIdx.x % kThreads;
  const i64 above = ROWS_AT_ONCE == 1 ? rows : align_up(rows, ROWS_AT_ONCE);
  if (!LINEAR && its >= above) {
    e4m3* padding = scales;
    launch_before_ended(padding);
    if constexpr (!LINEAR) pad_last_tiles<LAYOUT>(padding, rows, kBlocks, (its - above) * kStep + thread);
    return;
  }
  const i64 row = ROWS_AT_ONCE == 1 ? its : min(its, rows - 1);
  ClusterMax<kThreads, CLUSTER, ROWS_AT_ONCE> of_row;
  const IN* from[BLOCKS];
  DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b) from[b] = x + row * x_stride + min(thread + b * kStep, kBlocks - 1) * 16;
  u8* to = codes + (row * kBlocks + thread) * 8;
  e4m3* scale = scales + Scales::offset(row, thread, kPaddedBlocks);
  now(from[0]);
  if constexpr (BLOCKS == 1) now(to), now(scale);  // else there are not registers enough
  launch_before_ended(from[0]);
  ShareOfBlock<IN, 1> share[BLOCKS];
  DIECAST_UNROLL
  for (int b = 0; b < BLOCKS; ++b) share[b] = {from[b], 0};
  f32 of_block[BLOCKS], largest = 0.0f;
  DIECAST_UNROLL
  for (int b = 0; b < BLOCKS; ++b) largest = fmaxf(largest, of_block[b] = share[b].largest());
  if constexpr (NEXT == NEXT_elements) next_may_begin(largest);
  f32 of_all = of_row(largest);
  if constexpr (NEXT == NEXT_amax) next_may_begin(of_all);
  if (thread == 0) amax[row] = of_all;  // of the last row several write the same
  const UnderAmax under(of_all);
  DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b) {
    auto out = quantize_share<IN, 1, false>(from[b], 0, share[b], of_block[b], under);
    if constexpr (NEXT == NEXT_codes)
      if (b + 1 == BLOCKS) next_may_begin(out.codes);
    const u32 i = thread + b * kStep;
    if (i >= kBlocks) continue;
    out.store_codes(to + b * kStep * 8);
    e4m3* const at = scale + Scales::offset(0, b * kStep, kPaddedBlocks);
    *at = out.scale;
    const int padding = i + 1 == kBlocks ? static_cast<int>(kPaddedBlocks - kBlocks) : 0;
    DIECAST_UNROLL
    for (int behind = 1; behind < Scales::kTileCols; ++behind) {
      if (behind <= padding) at[behind] = {0};
    }
  }
}
