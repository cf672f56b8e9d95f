// accesses_row_once: the loads, stores, threads, barriers and clusters of quantizing rows that find
// their own amax where a thread takes a block of 16 or two, each once, without the arithmetic:
// every word that is written carries the largest of the row's.
/* diecast
shape    int   COLS                                      // elements of a row, 2 bytes each
tune     int   BLOCKS       {1, 2} = 1                   // blocks that a thread takes
tune     int   CLUSTER      {1, 2, 4, 8} = 1             // thread blocks that share a row
tune     int   ROWS_AT_ONCE {1, 2, 4, 8} = 1             // rows side by side in a thread block
tune     enum  NEXT         {elements, amax, codes} = elements  // what is there when the next launch may begin
let      ROW_THREADS = align_up(ceil_div(COLS / 16, BLOCKS * CLUSTER), 32)
size     rows
size     cols = COLS  divisible 16
arg      from      in   u8   [rows, 2 * cols]  align 16
arg      to_row    out  u32  [rows]
arg      to        out  u8   [rows, cols / 2]  align 8
arg      to_scales out  u8   [rows, cols / 16]
arg      rows
arg      cols
require  COLS > 0                                        // a row has threads enough
require  CLUSTER == 1 || cc >= 90                        // clusters are of 9.0 and later
require  ROW_THREADS * ROWS_AT_ONCE <= 1024              // a thread block has no more threads
require  CLUSTER == 1 || ROWS_AT_ONCE == 1
launch   grid(ceil_div(rows, ROWS_AT_ONCE) * CLUSTER) block(ROW_THREADS * ROWS_AT_ONCE) cluster(CLUSTER) dependent(late)
target   sm_80+
sample   COLS {512}  rows {0, 1, 7}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/threads/cluster.h>
#include <diecast/device/threads/dependent.h>

DIECAST_KERNEL {
  constexpr u32 kBlocks = COLS / 16, kThreads = ROW_THREADS;
  constexpr u32 kStep = kThreads * CLUSTER;
  ClusterMax<kThreads, CLUSTER, ROWS_AT_ONCE> of_row;
  const i64 row = ROWS_AT_ONCE == 1
                      ? blockIdx.x / CLUSTER
                      : min(i64{blockIdx.x} * ROWS_AT_ONCE + threadIdx.x / kThreads, rows - 1);
  const u32 thread = cluster_rank<CLUSTER>() * kThreads + threadIdx.x % kThreads;
  const u8* at[BLOCKS];
  DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b)
    at[b] = from + 32 * (row * kBlocks + min(thread + b * kStep, kBlocks - 1));
  launch_before_ended(at[0]);
  u32 found[BLOCKS] = {}, of_thread = 0;
  DIECAST_UNROLL
  for (int b = 0; b < BLOCKS; ++b) {
    DIECAST_UNROLL
    for (int p = 0; p < 32; p += 16) {
      const Vector<16> piece = load<16>(at[b] + p);
      DIECAST_UNROLL
      for (const u32 word : piece.words) found[b] ^= word;
    }
    of_thread ^= found[b];
  }
  if constexpr (NEXT == NEXT_elements) next_may_begin(of_thread);
  u32 of_all = __float_as_uint(of_row(__uint_as_float(of_thread)));
  if constexpr (NEXT != NEXT_elements) next_may_begin(of_all);
  if (thread == 0) to_row[row] = of_all;
  DIECAST_UNROLL
  for (u32 b = 0; b < BLOCKS; ++b) {
    const u32 i = thread + b * kStep;
    if (i >= kBlocks) continue;
    store_streaming<8>(to + 8 * (row * kBlocks + i), {{of_all, found[b] ^ of_all}});
    to_scales[row * kBlocks + i] = static_cast<u8>(found[b] ^ of_all);
  }
}
