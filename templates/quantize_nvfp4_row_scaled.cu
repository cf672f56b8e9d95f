// quantize_nvfp4_row_scaled: a row-major [rows, cols] matrix to NVFP4 with one amax a row, which this
// kernel finds itself: the row is read, its amax reduced, and its blocks quantized in one pass.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    bool  ALIGNED = true                            // every row of x starts at a multiple of 16 bytes
option   type  IN      {bf16, f16, f32}                  // element type of x
option   int   BLOCK   {16} = 16                         // neighbours that share one block scale
option   enum  PROFILE {te} = te                         // whose bits; see PROFILES.md
tune     int   THREADS {32, 128, 256} = 128              // they share a row
tune     int   HELD    {1, 2, 4} = 2                     // blocks a thread keeps in registers; later ones are read twice
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
launch   grid(min(rows, sm_count * waves)) block(THREADS)
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

// One block of threads a row; thread t takes blocks t, t + THREADS, ...
DIECAST_KERNEL {
  const i64 row_blocks = ceil_div(cols, BLOCK);
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const IN* from = x + row * x_stride;
    Block16<IN> held[HELD];
    f32 found = 0.0f;
DIECAST_UNROLL
    for (int h = 0; h < HELD; ++h) {
      const i64 block = threadIdx.x + i64{h} * THREADS;
      if (block < row_blocks) {
        held[h] = load_of_row(from, block, cols);
        found = fmaxf(found, amax_of(held[h]));
      }
    }
    for (i64 block = threadIdx.x + i64{HELD} * THREADS; block < row_blocks; block += THREADS) {
      found = fmaxf(found, amax_of(load_of_row(from, block, cols)));
    }
    const f32 row_amax = block_reduce_max<THREADS>(found);
    if (threadIdx.x == 0) amax[row] = row_amax;
    const Nvfp4Global global = nvfp4_global(row_amax);
    for (i64 block = threadIdx.x, h = 0; block < row_blocks; block += THREADS, ++h) {
      Block16<IN> taken = held[0];
DIECAST_UNROLL
      for (int k = 1; k < HELD; ++k) {
        if (h == k) taken = held[k];
      }
      if (h >= HELD) taken = load_of_row(from, block, cols);
      const Nvfp4Block out = quantize_nvfp4_block(taken, global);
      const i64 i = row * row_blocks + block;
      store_streaming<8>(codes + 8 * i, {{out.codes[0], out.codes[1]}});
      scales[i] = out.scale;
    }
  }
}
