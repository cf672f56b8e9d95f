// quantize_nvfp4_row_scaled: a row-major [rows, cols] matrix to NVFP4 with one amax a row, which this
// kernel finds itself: the row is read, its amax reduced, and its blocks quantized in one pass.
// ROWS_apart: whole blocks of 16, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {apart, any} = apart              // what is known of x's rows, see above
option   type  IN      {bf16, f16, f32}                  // element type of x
option   int   BLOCK   {16} = 16                         // neighbours that share one block scale
option   enum  PROFILE {te} = te                         // whose bits; see PROFILES.md
tune     int   THREADS {32, 256, 512} = 256              // they share a row
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : BLOCK)
arg      x      in   IN    [rows, cols]  stride  align (ROWS == ROWS_any ? bits(IN) / 8 : 16)
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

template <bool again>
DIECAST_DEVICE Block16<IN> load_of_row(const IN* row, i64 block, i64 cols_of_row) {
  const IN* from = row + block * BLOCK;
  if constexpr (ROWS == ROWS_any) {
    return load_block16_elements(from, cols_of_row - block * BLOCK);
  } else {
    return load_block16<again>(from);
  }
}

// One block of threads a row; thread t takes blocks t, t + THREADS, ... in both readings, the second
// of which finds what fits in the first-level cache.
DIECAST_KERNEL {
  const i64 row_blocks = ceil_div(cols, BLOCK);
DIECAST_NO_UNROLL
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const IN* from = x + row * x_stride;
    f32 found = 0.0f;
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x; i < row_blocks; i += THREADS) {
      found = fmaxf(found, amax_of(load_of_row<true>(from, i, cols)));
    }
    const f32 row_amax = block_reduce_max<THREADS>(found);
    if (threadIdx.x == 0) amax[row] = row_amax;
    const Nvfp4Global global = nvfp4_global(row_amax);
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x; i < row_blocks; i += THREADS) {
      const Nvfp4Block out = quantize_nvfp4_block(load_of_row<false>(from, i, cols), global);
      const i64 at = row * row_blocks + i;
      store_streaming<8>(codes + 8 * at, {{out.codes[0], out.codes[1]}});
      scales[at] = out.scale;
    }
  }
}
