// fused_scale: the scales of many weights in 16x16 blocks from the amaxes of their tiles and of each
// in all. Every weight gets its E4M3 bytes, a tile's in each of its 16 rows and zeros in the padding,
// and its amax; a tile's amax gives way to its decode scale, which partial_cast reads.
/* diecast
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 32} = 8                    // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all scale matrices: 16 rows by 512 columns each
size     tiles                                           // of all weights
arg      amaxes  in    f32  [count]
arg      decode  inout f32  [tiles]                      // a tile's amax, then its decode scale
arg      count
arg      units
arg      tiles
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(units * 32, THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
*/
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/nvfp4/nvfp4.h>
#include <diecast/device/scales/scale_rows.h>

// The scale bytes of up to four tiles; their decode scales in place of their amaxes.
DIECAST_DEVICE u32 scales_of_tiles(f32* tile, i64 count, const Nvfp4Global& global) {
  Vector<16> words = {};
  const bool whole = count >= 4 && reinterpret_cast<u64>(tile) % 16 == 0;
  if (whole) words = load<16>(tile);
  u32 bytes = 0;
  DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (i >= count) break;
    const f32 amax = whole ? __uint_as_float(words.words[i]) : tile[i];
    const e4m3 scale = nvfp4_block_scale(amax, global);
    const f32 decode_scale = __fmul_rn(f32_from_e4m3(scale), global.decode);
    words.words[i] = __float_as_uint(decode_scale);
    if (!whole) tile[i] = decode_scale;
    bytes |= u32{scale.bits} << (8 * i);
  }
  if (whole) store_streaming<16>(tile, words);
  return bytes;
}

DIECAST_KERNEL {
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
  u32 unit = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  DIECAST_NO_UNROLL
  for (; unit < units; unit += warps) {
    const u32 index = weight_of_unit(all, static_cast<u32>(count), kScaleUnits, unit);
    const Weight& weight = all[index];
    const u32 within = unit - weight.unit_begin[kScaleUnits];
    const u32 in_row = static_cast<u32>(max(ceil_div(weight.scale_cols, kScaleUnitCols), 1ll));
    const i64 tile_row = within / in_row, tile_cols = weight.tile_cols();
    const i64 first = (within - tile_row * in_row) * kScaleUnitCols;
    const Nvfp4Global global = nvfp4_global(amaxes[index]);
    if (within == 0 && lane == 0) *reinterpret_cast<f32*>(weight.rowwise.amax) = amaxes[index];

    const ScaleRows out = {reinterpret_cast<u8*>(weight.rowwise.scale), weight.rows, weight.scale_rows, weight.scale_cols};
    f32* of_row = decode + weight.first_tile + tile_row * tile_cols;
    const bool has_tiles = tile_row < weight.tile_rows();
    const i64 end = min(first + kScaleUnitCols, weight.scale_cols);
    DIECAST_NO_UNROLL
    for (i64 col = first + lane * 4; col < end; col += 128) {
      const u32 bytes = has_tiles ? scales_of_tiles(of_row + col, tile_cols - col, global) : 0;
      out.store<LAYOUT>(tile_row * 16, col, bytes);
    }
  }
}
