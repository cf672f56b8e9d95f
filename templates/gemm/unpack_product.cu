// unpack_product: both operands of an NVFP4 product as numbers, codes times their block scales in bf16, which holds them exactly.
// They lie as gemm_nvfp4_wgmma copies them (device/gemm/number_tiles.h): tiles of a, then those of b, zeros where a matrix ends.
/* diecast
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
use      <diecast/device/gemm/number_tiles.h>            // TILE_BYTES
size     rows
size     cols
size     depth  divisible 16
arg      a_codes  in   u8    [rows, depth / 2]  align 8
arg      a_scales in   e4m3  [align_up(rows, SCALE_ROWS), align_up(depth / 16, SCALE_COLS)]  stride (LINEAR)
arg      b_codes  in   u8    [cols, depth / 2]  align 8
arg      b_scales in   e4m3  [align_up(cols, SCALE_ROWS), align_up(depth / 16, SCALE_COLS)]  stride (LINEAR)
arg      numbers  out  u8    [(ceil_div(rows, 128) + ceil_div(cols, 128)) * ceil_div(depth, 64), TILE_BYTES]  align 128
arg      rows
arg      cols
arg      depth
launch   grid((ceil_div(rows, 128) + ceil_div(cols, 128)) * ceil_div(depth, 64)) block(256)
exchange none                                            // threads never wait for one another
sample   rows {1, 17, 130, 256}  cols {1, 40, 300}  depth {64}
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>

using Layout = ScaleLayout<LAYOUT>;

static_assert(NumberTiles::kBytes == TILE_BYTES, "as the header has it");

// The matrix that a tile is of.
struct Operand {
  const u8* codes;
  const e4m3* scales;
  i64 scale_stride, rows;
};

// Eight codes times their block's scale.
DIECAST_DEVICE Vector<16> numbers_of(u32 codes, e4m3 scale) {
  const f32 factor = f32_from_e4m3(scale);
  Vector<16> out;
  DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    const u32 low = __float_as_uint(f32_from_e2m1(codes >> 8 * i) * factor);
    const u32 high = __float_as_uint(f32_from_e2m1(codes >> (8 * i + 4)) * factor);
    out.words[i] = low >> 16 | (high & 0xFFFF0000u);
  }
  return out;
}

// A thread makes pieces of eight numbers, those of a row side by side in eight threads.
DIECAST_KERNEL {
  const i64 depth_tiles = ceil_div(depth, NumberTiles::kDepth), a_tiles = ceil_div(rows, NumberTiles::kRows);
  const i64 tile = blockIdx.x / depth_tiles, depth_tile = blockIdx.x - tile * depth_tiles;
  const bool of_a = tile < a_tiles;
  const Operand from = of_a ? Operand{a_codes, a_scales, a_scales_stride, rows} : Operand{b_codes, b_scales, b_scales_stride, cols};
  const i64 pitch = LINEAR ? from.scale_stride : Layout::padded_cols(depth / 16);
  const i64 first_row = (of_a ? tile : tile - a_tiles) * NumberTiles::kRows;
  const u32 piece = threadIdx.x % 8;
  const i64 col = depth_tile * NumberTiles::kDepth + 8 * piece;
  u8* const to = numbers + blockIdx.x * i64{NumberTiles::kBytes};
  DIECAST_UNROLL
  for (u32 row = threadIdx.x / 8; row < NumberTiles::kRows; row += 32) {
    u32 codes = 0;
    e4m3 scale{0};
    if (first_row + row < from.rows && col < depth) {
      codes = load<4>(from.codes + (first_row + row) * (depth / 2) + col / 2).words[0];
      scale = from.scales[Layout::offset(first_row + row, col / 16, pitch)];
    }
    *reinterpret_cast<Vector<16>*>(to + NumberTiles::place(row, piece)) = numbers_of(codes, scale);
  }
}
