// dequantize_nvfp4_columns: NVFP4 codes and block scales of a matrix's columns, the transpose's as
// quantize_nvfp4_tiles has them, back to the row-major [rows, cols] matrix.
// GLOBAL_amax:   out = e2m1 * ((scale * amax) * fl(1 / (BOUND * 6)))   amax as the quantizer had it
// GLOBAL_decode: out = (e2m1 * scale) * amax              amax = 1 / S, as checkpoints carry it
/* diecast
shape    int   COLS      = 0                             // row length; 0 = not fixed at compile time
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  OUT       {bf16, f16, f32}                // element type of out
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
option   bool  ROW_SCALE = false                         // amax has one entry a column, not one in all
option   enum  GLOBAL    {amax, decode} = amax           // what amax holds
option   int   BOUND     {448, 256} = 448                // the largest block scale amax was made for
tune     int   THREADS   {128, 256} = 256
tune     int   waves     {1, 8, 64, 256} = 256           // the most thread blocks a multiprocessor gets
size     rows  device
size     cols  = COLS
arg      codes  in   u8    [cols, align_up(rows, 16) / 2]  align 8
arg      scales in   e4m3  [align_up(cols, SCALE_ROWS), align_up(ceil_div(rows, 16), SCALE_COLS)]  stride (SCALES_APART)
arg      amax   in   f32   [ROW_SCALE ? cols : 1]
arg      out    out  OUT   [rows, cols]  stride
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LINEAR                         // tiles of scales lie one behind another: only linear rows can be apart
require  GLOBAL == amax || BOUND == 448                  // a decode scale has no bound left in it
launch   grid(min(ceil_div(rows % 64 == 0 && cols % 2 == 0 ? rows / 64 * (cols / 2) : ceil_div(rows, 16) * cols, THREADS),
                  sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
sample   COLS {0, 80}  rows {0, 1, 15, 33, 130, 192}  cols {1, 17, 80, 300}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/nvfp4/nvfp4_values.h>
#include <diecast/device/threads/row_walk.h>

using Scales = ScaleLayout<LAYOUT>;
using Block = Nvfp4Values<GLOBAL == GLOBAL_decode, BOUND>;

// A piece of two columns: 64 rows of them, four blocks of 16 one below the other, whose codes are a sector of memory and
// whose scales are a word.
constexpr i64 kDown = 64;

// Whether the matrix is made of such pieces, from where its parts lie.
DIECAST_DEVICE bool has_pieces(const u8* codes, const e4m3* scales, i64 scales_stride, const OUT* out, i64 out_stride, i64 rows,
                               i64 cols) {
  constexpr u64 kPair = bits<OUT>() / 4;  // bytes
  const bool aligned =
      (reinterpret_cast<u64>(codes) % 16 | reinterpret_cast<u64>(scales) % 4 | reinterpret_cast<u64>(out) % kPair) == 0;
  const bool apart = out_stride % 2 == 0 && (!LINEAR || scales_stride % 4 == 0);
  return aligned && apart && rows % kDown == 0 && cols % 2 == 0;
}

struct Column {
  Vector<16> codes[2];
  u32 scales;
  f32 of_all;

  DIECAST_DEVICE Column(const u8* from, const e4m3* of_blocks, const f32* amax)
      : codes{load_streaming<16>(from), load_streaming<16>(from + 16)}, scales(load<4>(of_blocks).words[0]), of_all(*amax) {}
  // The first block, which then is gone.
  DIECAST_DEVICE Block take(u32 (&block)[2]) {
    const Block values({static_cast<u8>(scales)}, of_all);
    block[0] = codes[0].words[0], block[1] = codes[0].words[1];
    scales >>= 8;
    DIECAST_UNROLL
    for (int i = 0; i < 2; ++i) {
      codes[0].words[i] = codes[0].words[i + 2], codes[0].words[i + 2] = codes[1].words[i],
      codes[1].words[i] = codes[1].words[i + 2];
    }
    return values;
  }
};

// Neighbouring threads write neighbouring pairs.
DIECAST_DEVICE void write_down(Column left, Column right, OUT* to, i64 stride) {
  DIECAST_NO_UNROLL
  for (int block = 0; block < 4; ++block) {
    u32 of_left[2], of_right[2];
    const Block first = left.take(of_left), second = right.take(of_right);
    DIECAST_UNROLL
    for (int i = 0; i < 16; ++i, to += stride) {
      Neighbours<OUT, 2> pair;
      pair.set_two(0, first.of(of_left[i / 8] >> 4 * (i % 8)), second.of(of_right[i / 8] >> 4 * (i % 8)));
      pair.template store<true>(to, 2);
    }
  }
}

DIECAST_KERNEL {
  const i64 col_blocks = ceil_div(rows, 16);
  const u32 walker = blockIdx.x * THREADS + threadIdx.x, walkers = gridDim.x * THREADS;
  if (has_pieces(codes, scales, scales_stride, out, out_stride, rows, cols)) {
    DIECAST_NO_UNROLL
    for (RowWalk at(cols / 2, rows / kDown, walker, walkers, COLS != 0); at.row < rows / kDown; at.next()) {
      const i64 col = at.piece * 2, block = at.row * (kDown / 16);
      const auto column = [&](i64 col) {
        return Column(codes + (col * col_blocks + block) * 8, scales + Scales::offset(col, block, scales_stride),
                      amax + (ROW_SCALE ? col : 0));
      };
      write_down(column(col), column(col + 1), out + at.row * kDown * out_stride + col, out_stride);
    }
    return;
  }
  // One thread a block of 16 down a column: neighbouring threads write neighbours.
  DIECAST_NO_UNROLL
  for (RowWalk at(cols, col_blocks, walker, walkers, COLS != 0); at.row < col_blocks; at.next()) {
    const i64 col = at.piece, row = at.row * 16;
    const Vector<8> block = load_streaming<8>(codes + (col * col_blocks + at.row) * 8);
    const e4m3 scale = scales[Scales::offset(col, at.row, scales_stride)];
    const f32 of_all = amax[ROW_SCALE ? col : 0];
    DIECAST_NO_UNROLL
    for (int half = 0; half < 2; ++half) {
      const i64 first = row + 8 * half;
      nvfp4_values<OUT, GLOBAL == GLOBAL_decode, BOUND>(block.words[half], scale, of_all)
          .store_down(out + first * out_stride + col, out_stride, rows - first);
    }
  }
}
