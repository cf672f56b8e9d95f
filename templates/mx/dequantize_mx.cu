// dequantize_mx: MXFP8 bytes or MXFP4 codes and E8M0 scales back to a row-major [rows, cols] matrix:
// the code's value times 2^(scale - 127), exact until it is rounded to OUT. Scale 255 gives NaN.
// SIDES_columnwise: blocks lie along columns, and codes and scales as quantize_mx_tiles has them.
// ROWS_apart: whole blocks of 32, every row of out from a multiple of 16 bytes on. ROWS_any: nothing
// is known; nothing behind the end of a row's codes is read.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {apart, any} = apart              // what is known of the rows, see above
option   type  OUT     {bf16, f16, f32}                  // element type of out
use      <diecast/device/mx/mx.h>                        // FORMAT
option   enum  SIDES {rowwise, columnwise} = rowwise     // what the blocks of 32 lie along
use      <diecast/device/scales/scale_layout.h>          // LAYOUT
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 128} = 64              // the most thread blocks a multiprocessor gets
let      COLUMNWISE = SIDES == columnwise
let      TRANSPOSED = COLUMNWISE && FOUR_BIT             // the codes are those of the transpose
let      FLAT       = COLUMNWISE && LINEAR && !FOUR_BIT  // the scales lie as the matrix does: [rows / 32, cols]
size     rows  device
size     cols  = COLS  divisible (ROWS == any ? 1 : 32)
size     pitch_t                                         // from one row of linear columnwise E2M1 scales to the next; 0: dense
arg      codes  in   u8    [TRANSPOSED ? cols : rows,
                            FOUR_BIT ? align_up(COLUMNWISE ? rows : cols, 32) / 2 : cols]  align (ROWS == any && !FOUR_BIT ? 1 : 8)
arg      scales in   e8m0  [FLAT ? ceil_div(rows, 32) : align_up(COLUMNWISE ? cols : rows, SCALE_ROWS),
                            FLAT ? cols : max(pitch_t, align_up(ceil_div(COLUMNWISE ? rows : cols, 32), SCALE_COLS))
                           ]  stride (LINEAR && !TRANSPOSED)
arg      out    out  OUT   [rows, cols]  stride  align (ROWS == any ? bits(OUT) / 8 : 16)
arg      rows
arg      cols
arg      pitch_t
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(TRANSPOSED ? ceil_div(rows, 32) * cols : rows * ceil_div(cols, 8), THREADS),
                  sm_count * waves * (bits(OUT) == 32 ? 4 : 1))) block(THREADS)  // to f32: of four times as many
launch   dependent
exchange none                                            // threads never wait for one another
sample   COLS {0, 96}  rows {0, 1, 7, 33, 130}  cols {1, 31, 32, 80, 96, 2100}  pitch_t {0}
*/
#include <diecast/device/numbers/eight.h>
#include <diecast/device/threads/row_walk.h>

using Scales = ScaleLayout<LAYOUT>;

// Eight codes, those behind the end of a row as zeros.
struct Codes {
  u32 words[2];
  DIECAST_DEVICE u32 code(int i) const {
    if constexpr (FOUR_BIT) return words[0] >> (4 * i) & 15u;
    return words[i / 4] >> (i % 4 * 8) & 255u;
  }
};

DIECAST_DEVICE Codes load_codes(const u8* from, i64 count) {
  Codes codes = {};
  if constexpr (FOUR_BIT) {
    codes.words[0] = load_streaming<4>(from).words[0];
  } else if constexpr (ROWS == ROWS_apart) {
    const Vector<8> v = load_streaming<8>(from);
    codes = {{v.words[0], v.words[1]}};
  } else {
    DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) {
      if (i < count) codes.words[i / 4] |= u32{from[i]} << (i % 4 * 8);
    }
  }
  return codes;
}

DIECAST_DEVICE f32 value_of(u32 code) {
  if constexpr (FORMAT == FORMAT_mxfp8_e4m3) {
    return f32_from_e4m3(e4m3{static_cast<u8>(code)});
  } else if constexpr (FORMAT == FORMAT_mxfp8_e5m2) {
    return f32_from_e5m2(e5m2{static_cast<u8>(code)});
  } else {
    return f32_from_e2m1(code);
  }
}

// The scale of element (row, col).
DIECAST_DEVICE f32 scale_of(const e8m0* scales, i64 stride, i64 row, i64 col) {
  i64 place;
  if constexpr (!COLUMNWISE) {
    place = Scales::offset(row, col / 32, stride);
  } else if constexpr (FLAT) {
    place = row / 32 * stride + col;
  } else {
    place = Scales::offset(col, row / 32, stride);
  }
  return f32_from_e8m0(scales[place]);
}

// A row's eight neighbours from `first` on, and what of the row is left there.
DIECAST_DEVICE Eight<OUT> values_along(const Codes& codes, const e8m0* scales, i64 stride, i64 row, i64 first, i64 left) {
  Eight<OUT> values;
  f32 scale = COLUMNWISE ? 0.0f : scale_of(scales, stride, row, first);
  DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) {
    if (COLUMNWISE && (ROWS == ROWS_apart || i < left)) {
      scale = scale_of(scales, stride, row, first + i);
    }
    values.set(i, __fmul_rn(value_of(codes.code(i)), scale));
  }
  return values;
}

// One thread eight neighbours of a row; of transposed codes a block down a column, so that
// neighbouring threads write neighbours.
DIECAST_KERNEL {
  i64 stride = scales_stride;
  if constexpr (COLUMNWISE && !FLAT) {
    // As far apart as the rows want, whose count the device may be the first to know.
    const bool apart = LINEAR && pitch_t != 0;
    stride = apart ? pitch_t : Scales::padded_cols(ceil_div(rows, 32));
  }
  const u32 thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  if constexpr (TRANSPOSED) {
    const i64 col_blocks = ceil_div(rows, 32);
    DIECAST_NO_UNROLL
    for (RowWalk at(cols, col_blocks, thread, threads, COLS != 0); at.row < col_blocks; at.next()) {
      const i64 col = at.piece;
      const u8* from = codes + (col * col_blocks + at.row) * 16;
      const f32 scale = scale_of(scales, stride, at.row * 32, col);
      DIECAST_NO_UNROLL
      for (i64 row = at.row * 32; row < at.row * 32 + 32 && row < rows; row += 8, from += 4) {
        const Codes loaded = {{load<4>(from).words[0]}};
        Eight<OUT> values;
        DIECAST_UNROLL
        for (int i = 0; i < 8; ++i) values.set(i, __fmul_rn(value_of(loaded.code(i)), scale));
        values.store_down(out + row * out_stride + col, out_stride, rows - row);
      }
    }
  } else {
    const i64 row_bytes = FOUR_BIT ? ceil_div(cols, 32) * 16 : cols;
    DIECAST_NO_UNROLL
    for (RowWalk at(ceil_div(cols, 8), rows, thread, threads, COLS != 0); at.row < rows; at.next()) {
      const i64 first = at.piece * 8, left = cols - first;
      const Codes loaded = load_codes(codes + at.row * row_bytes + (FOUR_BIT ? first / 2 : first), left);
      const Eight<OUT> values = values_along(loaded, scales, stride, at.row, first, left);
      values.template store<ROWS == ROWS_apart>(out + at.row * out_stride + first, left);
    }
  }
}
