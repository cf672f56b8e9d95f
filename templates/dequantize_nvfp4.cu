// dequantize_nvfp4: NVFP4 codes and block scales back to a row-major [rows, cols] matrix.
// GLOBAL_amax:   out = e2m1 * ((scale * amax) * fl(1/2688))   amax as the quantizer had it
// GLOBAL_decode: out = (e2m1 * scale) * factor                 factor = 1 / S, as checkpoints carry it
// ROWS_dense: whole blocks of 16, row after row without a gap, from a multiple of 16 bytes on.
// ROWS_apart: whole blocks, every row from a multiple of 16 bytes on. ROWS_any: nothing is known.
/* diecast
shape    int   COLS      = 0                             // row length; 0 = not fixed at compile time
shape    enum  ROWS    {dense, apart, any} = dense       // what is known of out's rows, see above
option   type  OUT       {bf16, f16, f32}                // element type of out
option   int   BLOCK     {16} = 16                       // neighbours that share one block scale
option   bool  ROW_SCALE = false                         // factor has one entry a row, not one in all
option   enum  GLOBAL    {amax, decode} = amax           // what factor holds
tune     int   THREADS   {128, 256} = 256
tune     int   waves     {1, 8, 64, 128} = 64            // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : BLOCK)
arg      codes  in   u8    [rows, align_up(cols, BLOCK) / 2]  align 8
arg      scales in   e4m3  [rows, ceil_div(cols, BLOCK)]
arg      factor in   f32   [ROW_SCALE ? rows : 1]
arg      out    out  OUT   [rows, cols]  stride (ROWS != ROWS_dense)  align (ROWS == ROWS_any ? bits(OUT) / 8 : 16)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(rows * ceil_div(cols, BLOCK), THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 80}  rows {0, 1, 7, 33}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/convert.h>
#include <diecast/device/row_walk.h>
#include <diecast/device/vector.h>

DIECAST_DEVICE f32 dequantized(u32 code, f32 scale, f32 of_block) {
  if constexpr (GLOBAL == GLOBAL_amax) {
    return __fmul_rn(f32_from_e2m1(code), of_block);
  } else {
    return __fmul_rn(__fmul_rn(f32_from_e2m1(code), scale), of_block);
  }
}

// One thread a block of 16.
DIECAST_KERNEL {
  constexpr int kPerWord = 32 / bits<OUT>();
  const i64 row_blocks = ceil_div(cols, BLOCK);
  RowWalk at(row_blocks, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS);
  const i64 blocks = rows * row_blocks;
DIECAST_NO_UNROLL
  for (; at.index < blocks; at.next()) {
    const Vector<8> code_words = load_streaming<8>(codes + 8 * at.index);
    const f32 scale = f32_from_e4m3(scales[at.index]);
    f32 of_block = factor[ROW_SCALE ? at.row : 0];
    if constexpr (GLOBAL == GLOBAL_amax) {
      of_block = __fmul_rn(__fmul_rn(scale, of_block), 0x1.861862p-12f);  // fl(1/2688)
    }
    u32 words[16 / kPerWord] = {};
DIECAST_UNROLL
    for (int e = 0; e < 16; ++e) {
      const u32 code = code_words.words[e / 8] >> (e % 8 * 4);
      const OUT element = from_f32<OUT>(dequantized(code, scale, of_block));
      words[e / kPerWord] |= to_bits(element) << (e % kPerWord * bits<OUT>());
    }
    const i64 first = at.piece * BLOCK;
    OUT* to = out + (ROWS == ROWS_dense ? at.index * BLOCK : at.row * out_stride + first);
    if constexpr (ROWS == ROWS_any) {
DIECAST_UNROLL
      for (int e = 0; e < 16; ++e) {
        const u32 word = words[e / kPerWord] >> (e % kPerWord * bits<OUT>());
        if (e < cols - first) to[e] = from_bits<OUT>(word);
      }
    } else {
DIECAST_UNROLL
      for (int v = 0; v < 4 / kPerWord; ++v) {
        store_streaming<16>(to + v * 4 * kPerWord, {{words[4 * v], words[4 * v + 1],
                                                     words[4 * v + 2], words[4 * v + 3]}});
      }
    }
  }
}
