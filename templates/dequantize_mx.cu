// dequantize_mx: MXFP8 bytes or MXFP4 codes and E8M0 scales back to a row-major [rows, cols] matrix:
// the code's value times 2^(scale - 127), exact until it is rounded to OUT. Scale 255 gives NaN.
// ROWS_apart: whole blocks of 32, every row of out from a multiple of 16 bytes on. ROWS_any: nothing
// is known; nothing behind the end of a row's codes is read.
/* diecast
shape    int   COLS    = 0                               // row length; 0 = not fixed at compile time
shape    enum  ROWS    {apart, any} = apart              // what is known of out's rows, see above
shape    bool  SCALES_APART = false                      // rows of linear scales may be apart
option   type  OUT     {bf16, f16, f32}                  // element type of out
option   enum  FORMAT  {mxfp8_e4m3, mxfp8_e5m2, mxfp4} = mxfp8_e4m3
option   enum  LAYOUT  {linear, s128x4, s8x4} = linear   // where a block's scale lies
tune     int   THREADS {128, 256} = 256
tune     int   waves   {1, 8, 64, 128} = 64              // the most blocks of threads a multiprocessor gets
size     rows  device
size     cols  = COLS  divisible (ROWS == ROWS_any ? 1 : 32)
arg      data   in   u8    [rows, FORMAT == FORMAT_mxfp4 ? align_up(cols, 32) / 2 : cols]  align (ROWS == ROWS_any && FORMAT != FORMAT_mxfp4 ? 1 : 8)
arg      scales in   e8m0  [align_up(rows, LAYOUT == LAYOUT_s128x4 ? 128 : LAYOUT == LAYOUT_s8x4 ? 8 : 1), align_up(ceil_div(cols, 32), LAYOUT == LAYOUT_linear ? 1 : 4)]  stride (SCALES_APART)
arg      out    out  OUT   [rows, cols]  stride  align (ROWS == ROWS_any ? bits(OUT) / 8 : 16)
arg      rows
arg      cols
require  THREADS % 32 == 0                               // whole warps
require  !SCALES_APART || LAYOUT == LAYOUT_linear        // tiles of scales lie one behind another: only linear rows can be apart
launch   grid(min(ceil_div(rows * ceil_div(cols, 8), THREADS), sm_count * waves)) block(THREADS)
target   host, sm_80+
exchange none                                            // threads of a block never wait for one another
sample   COLS {0, 96}  rows {0, 1, 7, 33, 130}  cols {1, 31, 32, 80, 96, 2100}
*/
#include <diecast/device/eight.h>
#include <diecast/device/mx.h>
#include <diecast/device/row_walk.h>
#include <diecast/device/scale_layout.h>

constexpr bool kFourBit = FORMAT == FORMAT_mxfp4;
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

// One thread eight neighbours of a row.
DIECAST_KERNEL {
  const i64 row_blocks = ceil_div(cols, 32);
  const i64 row_bytes = kFourBit ? row_blocks * 16 : cols;
DIECAST_NO_UNROLL
  for (RowWalk at(ceil_div(cols, 8), blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS);
       at.row < rows; at.next()) {
    const i64 first = at.piece * 8;
    const Codes codes =
        load_codes(data + at.row * row_bytes + (kFourBit ? first / 2 : first), cols - first);
    const f32 scale = f32_from_e8m0(scales[Scales::offset(at.row, at.piece / 4, scales_stride)]);
    Eight<OUT> elements;
DIECAST_UNROLL
    for (int i = 0; i < 8; ++i) elements.set(i, __fmul_rn(value_of(codes.code(i)), scale));
    elements.template store<ROWS == ROWS_apart>(out + at.row * out_stride + first, cols - first);
  }
}
