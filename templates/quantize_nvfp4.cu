// quantize_nvfp4: a row-major [rows, cols] matrix to NVFP4 under one amax for the whole tensor.
// Every BLOCK neighbours of a row become E2M1 codes, two a byte and the first in the low nibble,
// and one E4M3 block scale. A row's last block is padded with zeros.
// ROWS_dense: whole blocks of 16, row after row without a gap, from a multiple of 16 bytes on.
// ROWS_apart: whole blocks, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {dense, apart, any} = dense       // what is known of x's rows, see above
option   type  IN      {bf16, f16, f32}                  // element type of x
option   int   BLOCK   {16} = 16                         // neighbours that share one block scale
option   enum  PROFILE {te} = te                         // whose bits; see PROFILES.md
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : BLOCK)
arg      x      in   IN    [rows, cols]  stride (ROWS != ROWS_dense)  align (ROWS == ROWS_any ? bits(IN) / 8 : 16)
arg      amax   in   f32   [1]                           // of the whole tensor, or of several that share a scale
arg      codes  out  u8    [rows, align_up(cols, BLOCK) / 2]  align 8
arg      scales out  e4m3  [rows, ceil_div(cols, BLOCK)]
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(rows * ceil_div(cols, BLOCK), THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 80}  rows {0, 1, 7, 33}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/block16.h>
#include <diecast/device/nvfp4.h>
#include <diecast/device/row_walk.h>
#include <diecast/device/vector.h>

// One thread a block of 16.
DIECAST_KERNEL {
  const Nvfp4Global global = nvfp4_global(amax[0]);
  const u32 thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  const i64 row_blocks = ceil_div(cols, BLOCK);
  const i64 blocks = rows * row_blocks;
  const auto quantize = [&](const Block16<IN>& block, i64 index) {
    const Nvfp4Block out = quantize_nvfp4_block(block, global);
    store_streaming<8>(codes + 8 * index, {{out.codes[0], out.codes[1]}});
    scales[index] = out.scale;
  };
  if constexpr (ROWS == ROWS_dense) {
DIECAST_NO_UNROLL
    for (i64 i = thread; i < blocks; i += threads) quantize(load_block16(x + i * BLOCK), i);
  } else {
DIECAST_NO_UNROLL
    for (RowWalk at(row_blocks, thread, threads); at.index < blocks; at.next()) {
      const i64 first = at.piece * BLOCK;
      const IN* from = x + at.row * x_stride + first;
      quantize(ROWS == ROWS_apart ? load_block16(from) : load_block16_elements(from, cols - first),
               at.index);
    }
  }
}
