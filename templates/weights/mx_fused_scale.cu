// mx_fused_scale: the E8M0 scales of many weights in MXFP8, both directions, from the amaxes of their
// blocks; zeros in the padding of the layout. Linear scales of columns are [ceil_div(rows, 32), cols].
/* diecast
option   enum  FORMAT  {mxfp8_e4m3, mxfp8_e5m2} = mxfp8_e4m3
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 32} = 8                    // the most thread blocks a multiprocessor gets
use      <diecast/device/groups/weights.h>               // count, weights
size     units                                           // of all scale matrices: 16 rows by 512 columns each
size     blocks                                          // of all weights, both directions
arg      amaxes  in    f32  [count]                      // of no use here: the form of fused_scale
arg      maxima  inout f32  [blocks]
arg      count
arg      units
arg      blocks
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(units * 32, THREADS), sm_count * waves)) block(THREADS)
exchange none                                            // threads never wait for one another
*/
#include <diecast/device/groups/mx_weights.h>
#include <diecast/device/mx/mx.h>

using Format = Mx<FORMAT, MODE_rceil, false>;

// One direction's scale matrix; `maxima` of row r and column c lie at r * row_step + c * col_step.
struct Direction {
  u8* scales;
  const f32* maxima;
  i64 rows, cols, padded_rows, padded_cols, row_step, col_step;
};

DIECAST_DEVICE Direction direction_of(const Weight& w, f32* maxima, bool columnwise) {
  const MxMaxima from(w, maxima);
  if (columnwise && LINEAR) {
    return {reinterpret_cast<u8*>(w.columnwise.scale),
            from.columnwise,
            ceil_div(w.rows, 32),
            w.cols,
            w.column_scale_rows,
            w.column_scale_cols,
            w.cols,
            1};
  }
  if (columnwise) {
    return {reinterpret_cast<u8*>(w.columnwise.scale),
            from.columnwise,
            w.cols,
            ceil_div(w.rows, 32),
            w.column_scale_rows,
            w.column_scale_cols,
            1,
            w.cols};
  }
  return {reinterpret_cast<u8*>(w.rowwise.scale),
          from.rowwise,
          w.rows,
          from.row_blocks,
          w.scale_rows,
          w.scale_cols,
          from.row_blocks,
          1};
}

DIECAST_KERNEL {
  const Weight* all = reinterpret_cast<const Weight*>(weights);
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * (THREADS / 32);
  u32 unit = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  DIECAST_NO_UNROLL
  for (; unit < units; unit += warps) {
    const Weight& w = all[weight_of_unit(all, static_cast<u32>(count), kScaleUnits, unit)];
    u32 within = unit - w.unit_begin[kScaleUnits];
    const u32 rowwise_units = static_cast<u32>(ceil_div(w.scale_rows, 16) * ceil_div(w.scale_cols, kScaleUnitCols));
    const bool columnwise = within >= rowwise_units;
    if (columnwise) within -= rowwise_units;
    const Direction out = direction_of(w, maxima, columnwise);
    const u32 in_row = static_cast<u32>(max(ceil_div(out.padded_cols, kScaleUnitCols), 1ll));
    const i64 row = within / in_row * 16, first = within % in_row * kScaleUnitCols;
    const i64 row_end = min(row + 16, out.padded_rows), end = min(first + kScaleUnitCols, out.padded_cols);
    DIECAST_NO_UNROLL
    for (i64 r = row; r < row_end; ++r) {
      DIECAST_NO_UNROLL
      for (i64 c = first + lane; c < end; c += 32) {
        u8 scale = 0;
        if (r < out.rows && c < out.cols) {
          scale = Format::scale(__float_as_uint(out.maxima[r * out.row_step + c * out.col_step])).bits;
        }
        out.scales[ScaleLayout<LAYOUT>::offset(r, c, out.padded_cols)] = scale;
      }
    }
  }
}
