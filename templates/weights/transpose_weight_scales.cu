// transpose_weight_scales: the E4M3 scales of many weights in 16x16 blocks to those of the transposed
// matrices: each tile's byte in all 16 rows it has there, zeros in the padding, and the same amax.
/* diecast
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 32} = 8                    // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all turned scale matrices: 16 rows by 512 columns each
arg      count
arg      units
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(units * 32, THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
*/
#include <diecast/device/scales/scale_rows.h>

// The bytes of a tile column's tiles, four rows of tiles; zeros where there is none.
DIECAST_DEVICE u32 scales_of_column(const Weight& w, i64 tile_row, i64 tile_col) {
  const u8* from = reinterpret_cast<const u8*>(w.rowwise.scale);
  u32 bytes = 0;
  DIECAST_NO_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (tile_row + i >= w.tile_rows() || tile_col >= w.tile_cols()) break;
    const i64 at = ScaleLayout<LAYOUT>::offset((tile_row + i) * 16, tile_col, w.scale_cols);
    bytes |= u32{from[at]} << (8 * i);
  }
  return bytes;
}

DIECAST_KERNEL {
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
  u32 unit = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  DIECAST_NO_UNROLL
  for (; unit < units; unit += warps) {
    const Weight& w = all[weight_of_unit(all, static_cast<u32>(count), kScaleTransposeUnits, unit)];
    const u32 within = unit - w.unit_begin[kScaleTransposeUnits];
    const u32 in_row = static_cast<u32>(max(ceil_div(w.column_scale_cols, kScaleUnitCols), 1ll));
    const i64 tile_col = within / in_row;
    const i64 first = (within - tile_col * in_row) * kScaleUnitCols;
    if (within == 0 && lane == 0) {
      *reinterpret_cast<f32*>(w.columnwise.amax) = *reinterpret_cast<const f32*>(w.rowwise.amax);
    }
    const ScaleRows out = {reinterpret_cast<u8*>(w.columnwise.scale), w.cols, w.column_scale_rows, w.column_scale_cols};
    const i64 end = min(first + kScaleUnitCols, w.column_scale_cols);
    DIECAST_NO_UNROLL
    for (i64 col = first + lane * 4; col < end; col += 128) {
      out.store<LAYOUT>(tile_col * 16, col, scales_of_column(w, col, tile_col));
    }
  }
}
