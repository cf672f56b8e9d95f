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

// Largest magnitude of what this thread takes of a row, in the largest pieces that are aligned.
DIECAST_DEVICE f32 amax_of_share(const IN* row, i64 row_cols) {
  f32 found = 0.0f;
  if constexpr (ROWS == ROWS_any) {
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x; i < row_cols; i += THREADS) found = fmaxf(found, fabsf(to_f32(row[i])));
  } else {
    constexpr int kPiece = 128 / bits<IN>();
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x * kPiece; i < row_cols; i += THREADS * kPiece) {
      found = fmaxf(found, amax_of_vector<IN>(load<16>(row + i)));
    }
  }
  return found;
}

// One block of threads a row. The second reading finds in the first-level cache what fits there.
DIECAST_KERNEL {
  const i64 row_blocks = ceil_div(cols, BLOCK);
DIECAST_NO_UNROLL
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const IN* from = x + row * x_stride;
    u8* to_codes = codes + row * row_blocks * 8;
    e4m3* to_scales = scales + row * row_blocks;
    const f32 row_amax = block_reduce_max<THREADS>(amax_of_share(from, cols));
    if (threadIdx.x == 0) amax[row] = row_amax;
    const Nvfp4Global global = nvfp4_global(row_amax);
DIECAST_NO_UNROLL
    for (i64 i = threadIdx.x; i < row_blocks; i += THREADS) {
      const i64 first = i * BLOCK;
      const Nvfp4Block out = quantize_nvfp4_block(
          ROWS == ROWS_any ? load_block16_elements(from + first, cols - first)
                           : load_block16(from + first),
          global);
      store_streaming<8>(to_codes + 8 * i, {{out.codes[0], out.codes[1]}});
      to_scales[i] = out.scale;
    }
  }
}
