// dequantize_mx: MXFP8 bytes or MXFP4 codes and E8M0 scales back to a row-major [rows, cols] matrix:
// the code's value times 2^(scale - 127), exact until it is rounded to OUT. Scale 255 gives NaN.
// DIRECTION_columnwise: blocks lie along columns, and codes and scales as quantize_mx_tiles has them.
// ROWS_apart: whole blocks of 32, every row of out from a multiple of 16 bytes on. ROWS_any: nothing
// is known; nothing behind the end of a row's codes is read.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {apart, any} = apart              // what is known of out's rows, see above
option   type  OUT     {bf16, f16, f32}                  // element type of out
option   enum  FORMAT  {mxfp8_e4m3, mxfp8_e5m2, mxfp4} = mxfp8_e4m3
option   enum  DIRECTION {rowwise, columnwise} = rowwise // what the blocks of 32 lie along
option   enum  LAYOUT  {linear, s128x4, s8x4} = linear   // where a block's scale lies
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : 32)
size     pitch_t                                         // from one row of linear columnwise E2M1 scales to the next; 0: dense
arg      data   in   u8    [FORMAT == FORMAT_mxfp4 && DIRECTION == DIRECTION_columnwise ? cols : rows, FORMAT != FORMAT_mxfp4 ? cols : align_up(DIRECTION == DIRECTION_columnwise ? rows : cols, 32) / 2]  align (ROWS == ROWS_any && FORMAT != FORMAT_mxfp4 ? 1 : 8)
arg      scales in   e8m0  [DIRECTION == DIRECTION_rowwise ? align_up(rows, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1) : LAYOUT == LAYOUT_linear && FORMAT != FORMAT_mxfp4 ? ceil_div(rows, 32) : align_up(cols, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), DIRECTION == DIRECTION_columnwise && LAYOUT == LAYOUT_linear && FORMAT != FORMAT_mxfp4 ? cols : max(pitch_t, align_up(ceil_div(DIRECTION == DIRECTION_rowwise ? cols : rows, 32), LAYOUT == LAYOUT_linear ? 1 : 4))]  stride (LAYOUT == LAYOUT_linear && (DIRECTION == DIRECTION_rowwise || FORMAT != FORMAT_mxfp4))
arg      out    out  OUT   [rows, cols]  stride  align (ROWS == ROWS_any ? bits(OUT) / 8 : 16)
arg      rows
arg      cols
arg      pitch_t
require  THREADS % 32 == 0                               // whole warps
launch   grid(min(ceil_div(FORMAT == FORMAT_mxfp4 && DIRECTION == DIRECTION_columnwise ? ceil_div(rows, 32) * cols : rows * ceil_div(cols, 8), THREADS), sm_count * waves * (bits(OUT) == 32 ? 4 : 1))) block(THREADS)  // to f32: of four times as many
launch   dependent
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 96}  rows {0, 1, 7, 33, 130}  cols {1, 31, 32, 80, 96, 2100}  pitch_t {0}
*/
#include <diecast/device/eight.h>
#include <diecast/device/mx.h>
#include <diecast/device/row_walk.h>
#include <diecast/device/scale_layout.h>

constexpr bool kFourBit = FORMAT == FORMAT_mxfp4;
constexpr bool kColumnwise = DIRECTION == DIRECTION_columnwise;
constexpr bool kTransposed = kFourBit && kColumnwise;  // the codes are those of the transpose
using Scales = ScaleLayout<LAYOUT>;

// Eight codes, those behind the end of a row as zeros.
struct Codes {
  u32 words[2];
  DIECAST_DEVICE u32 code(int i) const {
    if constexpr (kFourBit) return words[0] >> (4 * i) & 15u;
    return words[i / 4] >> (i % 4 * 8) & 255u;
  }
};

DIECAST_DEVICE Codes load_codes(const u8* from, i64 count) {
  Codes codes = {};
  if constexpr (kFourBit) {
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
  if constexpr (!kColumnwise) {
    place = Scales::offset(row, col / 32, stride);
  } else if constexpr (LAYOUT == LAYOUT_linear && !kFourBit) {
    place = row / 32 * stride + col;
  } else {
    place = Scales::offset(col, row / 32, stride);
  }
  return f32_from_e8m0(scales[place]);
}

// A row's eight neighbours from `first` on, and what of the row is left there.
DIECAST_DEVICE Eight<OUT> values_along(const Codes& codes, const e8m0* scales, i64 stride, i64 row,
                                       i64 first, i64 left) {
  Eight<OUT> values;
  f32 scale = kColumnwise ? 0.0f : scale_of(scales, stride, row, first);
DIECAST_UNROLL
  for (int i = 0; i < 8; ++i) {
    if (kColumnwise && (ROWS == ROWS_apart || i < left)) {
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
  if constexpr (kColumnwise && (LAYOUT != LAYOUT_linear || kFourBit)) {
    // As far apart as the rows want, whose count the device may be the first to know.
    const bool apart = LAYOUT == LAYOUT_linear && pitch_t != 0;
    stride = apart ? pitch_t : Scales::padded_cols(ceil_div(rows, 32));
  }
  const u32 thread = blockIdx.x * THREADS + threadIdx.x, threads = gridDim.x * THREADS;
  if constexpr (kTransposed) {
    const i64 col_blocks = ceil_div(rows, 32);
DIECAST_NO_UNROLL
    for (RowWalk at(cols, col_blocks, thread, threads, COLS != 0); at.row < col_blocks; at.next()) {
      const i64 col = at.piece;
      const u8* from = data + (col * col_blocks + at.row) * 16;
      const f32 scale = scale_of(scales, stride, at.row * 32, col);
DIECAST_NO_UNROLL
      for (i64 row = at.row * 32; row < at.row * 32 + 32 && row < rows; row += 8, from += 4) {
        const Codes codes = {{load<4>(from).words[0]}};
        Eight<OUT> values;
DIECAST_UNROLL
        for (int i = 0; i < 8; ++i) values.set(i, __fmul_rn(value_of(codes.code(i)), scale));
        values.store_down(out + row * out_stride + col, out_stride, rows - row);
      }
    }
  } else {
    const i64 row_bytes = kFourBit ? ceil_div(cols, 32) * 16 : cols;
DIECAST_NO_UNROLL
    for (RowWalk at(ceil_div(cols, 8), rows, thread, threads, COLS != 0); at.row < rows; at.next()) {
      const i64 first = at.piece * 8, left = cols - first;
      const Codes codes =
          load_codes(data + at.row * row_bytes + (kFourBit ? first / 2 : first), left);
      const Eight<OUT> values =
          values_along(codes, scales, stride, at.row, first, left);
      values.template store<ROWS == ROWS_apart>(out + at.row * out_stride + first, left);
    }
  }
}
