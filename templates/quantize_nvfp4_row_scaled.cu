// quantize_nvfp4_row_scaled: a row-major [rows, cols] matrix to NVFP4 with one amax a row, which this
// kernel finds itself: the row is read, its amax reduced, and its blocks quantized in one pass.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    bool  ALIGNED = true                            // every row of x starts at a multiple of 16 bytes
option   type  IN      {bf16, f16, f32}                  // element type of x
option   int   BLOCK   {16} = 16                         // neighbours that share one block scale
option   enum  PROFILE {te} = te                         // whose bits; see PROFILES.md
tune     int   THREADS {32, 128, 256} = 128              // they share a row
tune     int   kept    {0, 8192, 65536} = 65536          // bytes of a row held in shared memory; the rest is read twice
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS
arg      x      in   IN    [rows, cols]  stride  align (ALIGNED ? 16 : bits(IN) / 8)
arg      amax   out  f32   [rows]
arg      codes  out  u8    [rows, align_up(cols, BLOCK) / 2]  align 8
arg      scales out  e4m3  [rows, ceil_div(cols, BLOCK)]
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(rows, sm_count * waves)) block(THREADS) shared(min(kept, ceil_div(cols, BLOCK) * BLOCK * bits(IN) / 8))
target   host, sm_80+
exchange block                                           // the row's amax is reduced by all its threads
sample   COLS {0, 80}  rows {0, 1, 7, 33}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/block16.h>
#include <diecast/device/nvfp4.h>
#include <diecast/device/reduce.h>
#include <diecast/device/vector.h>

DIECAST_DEVICE Block16<IN> load_of_row(const IN* row, i64 block, i64 cols_of_row) {
  const i64 count = cols_of_row - block * BLOCK;
  const IN* from = row + block * BLOCK;
  return ALIGNED && count >= BLOCK ? load_block16(from) : load_block16_elements(from, count);
}

// Blocks that the row's first reading leaves in shared memory, as many as fit, word vector by word
// vector: neighbouring threads touch neighbouring 16 bytes.
struct KeptBlocks {
  static constexpr int kVectors = Block16<IN>::kWords / 4;
  Vector<16>* vectors = dynamic_shared<Vector<16>>();
  i64 capacity = dynamic_shared_bytes() / (16 * kVectors);

  DIECAST_DEVICE void keep(i64 index, const Block16<IN>& block) const {
DIECAST_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const u32* w = block.words + 4 * v;
      vectors[v * capacity + index] = {{w[0], w[1], w[2], w[3]}};
    }
  }
  DIECAST_DEVICE Block16<IN> kept(i64 index) const {
    Block16<IN> block;
DIECAST_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const Vector<16> words = vectors[v * capacity + index];
DIECAST_UNROLL
      for (int w = 0; w < 4; ++w) block.words[4 * v + w] = words.words[w];
    }
    return block;
  }
};

// One block of threads a row; thread t takes blocks t, t + THREADS, ... in both readings, so that
// what it kept is its own.
DIECAST_KERNEL {
  const KeptBlocks memory;
  const i64 row_blocks = ceil_div(cols, BLOCK);
DIECAST_NO_UNROLL
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const IN* from = x + row * x_stride;
    f32 found = 0.0f;
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x; i < row_blocks; i += THREADS) {
      const Block16<IN> block = load_of_row(from, i, cols);
      found = fmaxf(found, amax_of(block));
      if (i < memory.capacity) memory.keep(i, block);
    }
    const f32 row_amax = block_reduce_max<THREADS>(found);
    if (threadIdx.x == 0) amax[row] = row_amax;
    const Nvfp4Global global = nvfp4_global(row_amax);
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x; i < row_blocks; i += THREADS) {
      const Block16<IN> block = i < memory.capacity ? memory.kept(i) : load_of_row(from, i, cols);
      const Nvfp4Block out = quantize_nvfp4_block(block, global);
      const i64 at = row * row_blocks + i;
      store_streaming<8>(codes + 8 * at, {{out.codes[0], out.codes[1]}});
      scales[at] = out.scale;
    }
  }
}
