// quantize_nvfp4_amax_few: the bits of quantize_nvfp4 in profile te under the amax of the whole matrix, which it
// finds and writes, with linear scales, for whole blocks of 16, row after row without a gap, from a multiple of 16 bytes
// on. One cluster takes all of a small matrix in one launch: nothing has to be zero before it, and no kernel waits for
// another's amax. A thread keeps its first block in registers and loads the others of a matrix that has more again.
/* diecast
option   type  IN      {bf16, f16, f32, e4m3}            // element type of x
tune     int   THREADS {256, 512} = 256
tune     int   CLUSTER {1, 8} = 1                        // thread blocks that share the matrix
tune     enum  NEXT    {elements, amax} = elements       // what is there when the next launch may begin
size     rows
size     cols  divisible 16
arg      x      in   IN    [rows, cols]  align 16
arg      amax   out  f32   [1]
arg      codes  out  u8    [rows, align_up(cols, 16) / 2]  align 8
arg      scales out  e4m3  [rows, cols / 16]
arg      rows
arg      cols
require  CLUSTER == 1 || cc >= 90                        // clusters are of 9.0 and later
require  NEXT == elements || cc >= 90                    // before 9.0 the next launch begins when this one has ended
launch   grid(CLUSTER) block(THREADS) cluster(CLUSTER)
launch   dependent(late)
exchange block                                           // the amax is reduced by all threads
sample   rows {0, 1, 7, 33, 130}  cols {16, 80, 2112}
*/
#include <diecast/device/blocks/block16.h>
#include <diecast/device/nvfp4/nvfp4_share.h>
#include <diecast/device/threads/cluster.h>
#include <diecast/device/threads/dependent.h>

DIECAST_KERNEL {
  constexpr u32 kTogether = THREADS * CLUSTER;  // blocks that are taken at once
  ClusterMax<THREADS, CLUSTER> of_all;
  const u32 thread = cluster_rank<CLUSTER>() * THREADS + threadIdx.x;
  const i64 blocks = rows * (cols / 16);
  i64 i = thread;
  const IN* from = x + i * 16;
  launch_before_ended(from);
  LoadedBlock16<IN> block = {};
  if (i < blocks) block = load_block16(from);
  f32 found = 0.0f;
  DIECAST_NO_UNROLL
  for (i64 more = i + kTogether; more < blocks; more += kTogether) {
    found = fmaxf(found, amax_of(load_block16<IN>(x + more * 16)));
  }
  f32 of_block = amax_of(block);
  found = fmaxf(found, of_block);
  if constexpr (NEXT == NEXT_elements) next_may_begin(found);
  f32 of_tensor = of_all(found);
  if constexpr (NEXT == NEXT_amax) next_may_begin(of_tensor);
  if (thread == 0) *amax = of_tensor;
  const UnderAmax under(of_tensor);
  DIECAST_NO_UNROLL
  while (i < blocks) {
    const ShareOfBlock<IN, 1> whole(block);
    const auto out = quantize_share<IN, 1, false>(x + i * 16, 0, whole, of_block, under);
    out.store_codes(codes + i * 8);
    scales[i] = out.scale;
    i += kTogether;
    if (i < blocks) block = load_block16<IN>(x + i * 16);
    of_block = amax_of(block);
  }
}
