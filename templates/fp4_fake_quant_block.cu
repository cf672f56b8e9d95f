// fp4_fake_quant_block: dynamic fake quantization of a row-major [rows, cols] matrix as ModelOpt does
// it: every BLOCK neighbours of a row to the nearest E2M1 multiples of a scale that their own amax
// and the tensor's make. A row's last block is padded with zeros.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
option   type  IN      {bf16, f16, f32}                  // element type of x and out
option   int   BLOCK   {8, 16, 32, 64, 128} = 16         // neighbours that share one scale
option   enum  PROFILE {modelopt} = modelopt             // whose bits; see PROFILES.md
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS
arg      x           in   IN   [rows, cols]  stride
arg      global_amax in   f32  [1]                       // of the whole tensor
arg      out         out  IN   [rows, cols]  stride
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(rows * ceil_div(cols, BLOCK), THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 80}  rows {0, 1, 7, 33}  cols {1, 16, 17, 80, 2100}
*/
#include <diecast/device/fp4_fake.h>
#include <diecast/device/row_walk.h>

// p of a block: its E4M3 scale times gs, and 1 where that is below 1e-5, as upstream has it.
DIECAST_DEVICE f32 dynamic_scale(f32 block_amax, f32 gs) {
  const f32 s8 = fminf(quotient(block_amax, __fmul_rn(6.0f, gs)), 448.0f);
  const f32 p = __fmul_rn(f32_from_e4m3(e4m3_from_f32(s8)), gs);
  return p >= 1e-5f ? p : 1.0f;
}

// One thread a block.
DIECAST_KERNEL {
  f32 gs = __fmul_rn(global_amax[0], 0x1.861862p-12f);  // fl(1/2688)
  if (!(gs > 0.0f)) gs = 1e-12f;
  RowWalk at(ceil_div(cols, BLOCK), rows, blockIdx.x * THREADS + threadIdx.x,
             gridDim.x * THREADS);
DIECAST_NO_UNROLL
  for (; at.row < rows && at.row_pieces > 0; at.next()) {
    const i64 first = at.piece * BLOCK;
    const i64 count = min(i64{BLOCK}, cols - first);
    const IN* from = x + at.row * x_stride + first;
    IN* to = out + at.row * out_stride + first;
    f32 amax = 0.0f;
DIECAST_NO_UNROLL
    for (i64 i = 0; i < count; ++i) amax = fmaxf(amax, fabsf(to_f32(from[i])));
    const f32 p = dynamic_scale(amax, gs);
DIECAST_NO_UNROLL
    for (i64 i = 0; i < count; ++i) to[i] = from_f32<IN>(fp4_fake(to_f32(from[i]), p));
  }
}
