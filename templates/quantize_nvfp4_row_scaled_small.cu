// quantize_nvfp4_row_scaled_small: the bits of quantize_nvfp4_row_scaled in profile te, for whole blocks of 16 and rows of
// a known length, each from a multiple of 16 bytes on; padding of tiled scales is written. Where all of a matrix is on the GPU at
// once a launch is a wait for memory and one for the row's amax: LANES neighbours take a block together, each once,
// and several blocks of threads, a cluster, share a row, so that no multiprocessor has much of it.
/* diecast
shape    int   COLS                                      // row length
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
option   enum  LAYOUT  {linear, s128x4, s8x4} = linear   // where a block's scale lies
tune     int   LANES   {1, 2, 4} = 2                     // threads of a block of 16
tune     int   THREADS {128, 256, 512} = 128
tune     int   CLUSTER {1, 2, 4, 8} = 1                  // blocks of threads that share a row
tune     enum  NEXT    {elements, amax, codes} = elements  // what is there when the next launch may begin
size     rows
size     cols  = COLS  divisible 16
arg      x      in   IN    [rows, cols]  stride  align 16
arg      amax   out  f32   [rows]
arg      codes  out  u8    [rows, align_up(cols, 16) / 2]  align 8
arg      scales out  e4m3  [LAYOUT == LAYOUT_linear ? rows : 1, LAYOUT == LAYOUT_linear ? cols / 16 : align_up(rows, LAYOUT == LAYOUT_s128x4 ? 128 : 8) * align_up(cols / 16, 4)]  align (LAYOUT == LAYOUT_linear ? 1 : 16)  // tiles: all as one row
arg      rows
arg      cols
require  COLS > 0                                        // a row has threads enough
require  CLUSTER == 1 || cc >= 90                        // clusters are of 9.0 and later
require  NEXT == NEXT_elements || cc >= 90               // before 9.0 the next launch begins when this one has ended
require  THREADS * CLUSTER >= COLS / 16 * LANES          // a row has threads enough: fewer LANES, or more THREADS or CLUSTER
require  CLUSTER == 1 || THREADS * CLUSTER < 2 * (COLS / 16 * LANES)  // no block of threads is idle: a smaller CLUSTER
launch   grid((rows + (LAYOUT == LAYOUT_linear || rows % (LAYOUT == LAYOUT_s128x4 ? 128 : 8) == 0 ? 0 : ceil_div((LAYOUT == LAYOUT_s128x4 ? 32 : 2) * ceil_div(cols, 64), THREADS * CLUSTER))) * CLUSTER) block(THREADS) cluster(CLUSTER)
launch   dependent(late) resident(LANES == 1 && (cc == 80 || cc == 90) ? 2048 / THREADS : 0)
target   host, sm_80+
exchange block                                           // a row's amax is reduced by all its threads
sample   COLS {80, 2112}  rows {0, 1, 7, 33, 130}
*/
#include <diecast/device/block16.h>
#include <diecast/device/cluster.h>
#include <diecast/device/dependent.h>
#include <diecast/device/nvfp4_share.h>
#include <diecast/device/scale_layout.h>
#include <diecast/device/scale_padding.h>

using Scales = ScaleLayout<LAYOUT>;

// The last threads of a row have no block: they take the last one's place in the amax, and write nothing. Behind the rows
// come clusters for the padding.
DIECAST_KERNEL {
  using Share = ShareOfBlock<IN, LANES>;
  constexpr u32 kBlocks = COLS / 16;
  constexpr i64 kPaddedBlocks = align_up(i64{kBlocks}, Scales::kTileCols);
  const i64 row = blockIdx.x / CLUSTER;
  const u32 thread = cluster_rank<CLUSTER>() * THREADS + threadIdx.x, lane = thread % LANES, i = thread / LANES;
  if (LAYOUT != LAYOUT_linear && row >= rows) {
    e4m3* padding = scales;
    launch_before_ended(padding);
    if constexpr (LAYOUT != LAYOUT_linear)
      pad_last_tiles<LAYOUT>(padding, rows, kBlocks, (row - rows) * (THREADS * CLUSTER) + thread);
    return;
  }
  ClusterMax<THREADS, CLUSTER> of_row;
  const IN* const block = x + row * x_stride + min(i, kBlocks - 1) * 16;
  const IN* from = block + (Share::kWhole ? 0 : lane * (16 / LANES));
  u8* to = codes + (row * kBlocks + i) * 8 + lane * (8 / LANES);
  e4m3* scale = scales + Scales::offset(row, i, kPaddedBlocks);
  now(from), now(to), now(scale);
  launch_before_ended(from);
  const Share share(from, lane);
  f32 largest = share.largest();
  if constexpr (NEXT == NEXT_elements) next_may_begin(largest);
  const f32 of_block = Share::amax(largest);
  f32 of_all = of_row(largest);
  if constexpr (NEXT == NEXT_amax) next_may_begin(of_all);
  if (thread == 0) amax[row] = of_all;
  auto out = quantize_share<IN, LANES>(block, lane, share, of_block, share.is_finite(), UnderAmax(of_all));
  if constexpr (NEXT == NEXT_codes) next_may_begin(out.codes);
  if (i >= kBlocks) return;
  out.store_codes(to);
  if (lane != 0) return;
  *scale = out.scale;
  const int padding = i + 1 == kBlocks ? static_cast<int>(kPaddedBlocks - kBlocks) : 0;
DIECAST_UNROLL
  for (int behind = 1; behind < Scales::kTileCols; ++behind) {
    if (behind <= padding) scale[behind] = {0};
  }
}
