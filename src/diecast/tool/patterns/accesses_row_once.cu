// accesses_row_once: the loads, stores, threads, barriers and clusters of quantizing rows that find their own amax where
// neighbouring threads take a block of 16 together, each once, without the arithmetic: every word that is written
// carries the largest of the row's.
/* diecast
shape    int   COLS                                      // elements of a row, 2 bytes each
tune     int   LANES   {1, 2, 4} = 2                     // neighbours that take a block together
tune     int   THREADS {128, 256, 512} = 128
tune     int   CLUSTER {1, 2, 4, 8} = 1                  // blocks of threads that share a row
tune     enum  NEXT    {elements, amax, codes} = elements  // what is there when the next launch may begin
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
require  THREADS * CLUSTER >= COLS / 16 * LANES          // a row has threads enough
launch   grid(rows * CLUSTER) block(THREADS) cluster(CLUSTER) dependent(late)
target   sm_80+
sample   COLS {512}  rows {0, 1, 7}
*/
#include <diecast/device/cluster.h>
#include <diecast/device/dependent.h>
#include <diecast/device/vector.h>

DIECAST_KERNEL {
  constexpr u32 kBlocks = COLS / 16;
  ClusterMax<THREADS, CLUSTER> of_row;
  const i64 row = blockIdx.x / CLUSTER;
  const u32 thread = cluster_rank<CLUSTER>() * THREADS + threadIdx.x, lane = thread % LANES, i = thread / LANES;
  const i64 block = row * kBlocks + i;
  constexpr int kBytes = 32 / LANES, kPiece = kBytes < 16 ? kBytes : 16;
  const u8* at = from + 32 * (row * kBlocks + min(i, kBlocks - 1)) + lane * kBytes;
  launch_before_ended(at);
  u32 found = 0;
DIECAST_UNROLL
  for (int p = 0; p < kBytes; p += kPiece) {
    const Vector<kPiece> piece = load<kPiece>(at + p);
DIECAST_UNROLL
    for (const u32 word : piece.words) found ^= word;
  }
  if constexpr (NEXT == NEXT_elements) next_may_begin(found);
  u32 of_all = __float_as_uint(of_row(__uint_as_float(found)));
  if constexpr (NEXT != NEXT_elements) next_may_begin(of_all);
  if (thread == 0) to_row[row] = of_all;
  if (i >= kBlocks) return;
  u8* const out = to + 8 * block + lane * (8 / LANES);
  if constexpr (LANES == 1) {
    store_streaming<8>(out, {{of_all, found ^ of_all}});
  } else if constexpr (LANES == 2) {
    store_streaming<4>(out, {{found ^ of_all}});
  } else {
    *reinterpret_cast<u16*>(out) = static_cast<u16>(found ^ of_all);
  }
  if (lane == 0) to_scales[block] = static_cast<u8>(found ^ of_all);
}
