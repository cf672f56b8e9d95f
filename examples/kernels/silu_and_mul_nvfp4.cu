// silu_and_mul_nvfp4: silu_and_mul of a row's two halves, and its quantization to NVFP4 in one pass:
// the products, rounded to IN, are never in memory. The bits are those of silu_and_mul, then
// quantize_nvfp4 in profile te under an amax that is given.
/* diecast
shape    bool  ALIGNED = true                    // halves of whole blocks, rows from a multiple of 16 bytes on
option   type  IN      {bf16, f16, f32}          // element type of x, and of the products
use      <diecast/device/scales/scale_layout.h>  // LAYOUT
let      THREADS = 128
tune     int   waves   {8, 64} = 64              // blocks a multiprocessor, at most
size     rows
size     cols  divisible (ALIGNED ? 16 : 1)
arg      x      in   IN    [rows, 2 * cols]  stride  align (ALIGNED ? 16 : bits(IN) / 8)
arg      amax   in   f32   [1]
arg      codes  out  u8    [rows, align_up(cols, 16) / 2]  align 8
arg      scales out  e4m3  [align_up(rows, SCALE_ROWS) * align_up(ceil_div(cols, 16), SCALE_COLS)]
arg      rows
arg      cols
launch   grid(min(ceil_div(rows * ceil_div(cols, 16), THREADS), sm_count * waves)) block(THREADS) dependent
exchange none
sample   rows {0, 1, 7}  cols {16, 100, 1000}
*/
#include <diecast/device/math/activations.h>
#include <diecast/device/nvfp4/nvfp4.h>
#include <diecast/device/threads/row_walk.h>

DIECAST_KERNEL {
  using Layout = ScaleLayout<LAYOUT>;
  const i64 blocks = ceil_div(cols, 16), pitch = Layout::padded_cols(blocks);
  const Nvfp4Global global = nvfp4_global(amax[0]);
  for (RowWalk at(pitch, Layout::padded_rows(rows), blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS);
       at.row < Layout::padded_rows(rows); at.next()) {
    e4m3 scale = {0};  // as padding has it
    if (at.row < rows && at.piece < blocks) {
      const i64 first = at.piece * 16;
      const auto read = [&](const IN* from) { return ALIGNED ? load_block16(from) : load_block16_elements(from, cols - first); };
      const Block16<IN> gate = read(x + at.row * x_stride + first), up = read(x + at.row * x_stride + cols + first);
      f32 product[16];
      DIECAST_UNROLL
      for (int i = 0; i < 16; ++i) product[i] = math::silu(gate.element(i)) * up.element(i);
      const Nvfp4Block out = nvfp4_block(block16_of<IN>(product), global);
      store_streaming<8>(codes + 8 * (at.row * blocks + at.piece), {{out.codes[0], out.codes[1]}});
      scale = out.scale;
    }
    scales[Layout::offset(at.row, at.piece, pitch)] = scale;
  }
}
