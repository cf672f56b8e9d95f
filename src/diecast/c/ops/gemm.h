/* Products and layouts in the table of ops; see diecast/c/ops.h. */
#ifndef DIECAST_C_OPS_GEMM_H
#define DIECAST_C_OPS_GEMM_H

#define DIECAST_GEMM_NVFP4(TENSOR, WORD, FLAG, COUNT, REAL)                             \
  TENSOR(a, INPUT, "the activation's codes: u8 [M, K/2], by transposes of the columns") \
  TENSOR(a_scale, INPUT, "its block scales")                                            \
  TENSOR(a_amax, INPUT, "f32 [1], row-scaled [M]")                                      \
  TENSOR(b, INPUT, "the weight's codes: u8 [N, K/2]")                                   \
  TENSOR(b_scale, INPUT, "its block scales")                                            \
  TENSOR(b_amax, INPUT, "f32 [1], row-scaled [N]")                                      \
  TENSOR(bias, OPTIONAL_INPUT, "bf16, f16 or f32 [N], added in f32")                    \
  TENSOR(out, OUTPUT, "bf16, f16 or f32 [M, N], dense")                                 \
  TENSOR(scratch, SCRATCH, "u8: for path unpacked, cublaslt or auto")                   \
  WORD(dtype, FloatType, "of the output, where it is left out")                         \
  WORD(layout, ScaleLayout, "where the block scales of both lie")                       \
  WORD(path, GemmPath, "whose code makes the product")                                  \
  FLAG(a_row_scaled, "a has one amax a row")                                            \
  FLAG(b_row_scaled, "b has one amax a row")                                            \
  FLAG(accumulate, "out += the product")                                                \
  REAL(alpha, 1.0, "times the sums, before bias")                                       \
  COUNT(a_bound, 448, "the e4m3_bound that a was made with")                            \
  COUNT(b_bound, 448, "the e4m3_bound that b was made with")

#define DIECAST_ARRANGE_SCALES(TENSOR, WORD, FLAG, COUNT, REAL)                            \
  TENSOR(scale, INPUT, "bytes: linear [.., rows, cols], else whole tiles of them")         \
  TENSOR(old_decode, OPTIONAL_INPUT, "f32 [batch]: the decode scale they were made under") \
  TENSOR(new_decode, OPTIONAL_INPUT, "f32 [batch]: and the one they come under")           \
  TENSOR(out, OUTPUT, "bytes, in the other layout, padding 0")                             \
  WORD(from_layout, ScaleLayout, "where they lie")                                         \
  WORD(layout, TiledFirst, "where they come to lie")                                       \
  COUNT(rows, 0, "rows of each matrix: needed where it lies in tiles")                     \
  COUNT(cols, 0, "scales a row: needed where it lies in tiles")                            \
  COUNT(batch, 1, "matrices one behind another")

#define DIECAST_TRANSPOSE_CODES(TENSOR, WORD, FLAG, COUNT, REAL)                          \
  TENSOR(data, INPUT, "u8 [rows, align_up(cols, pad) / 2]: E2M1 codes, low nibble first") \
  TENSOR(out, OUTPUT, "u8 [cols, align_up(rows, pad) / 2]")                               \
  COUNT(rows, 0, "0: data's rows")                                                        \
  COUNT(cols, 0, "0: all codes of a row")                                                 \
  COUNT(pad, 16, "2 or 16 codes that a row is padded to")

#define DIECAST_TRANSPOSE_NVFP4(TENSOR, WORD, FLAG, COUNT, REAL)                  \
  TENSOR(data, INPUT, "codes in 16x16 blocks, u8 [rows, align_up(cols, 16) / 2]") \
  TENSOR(scale, INPUT, "their block scales")                                      \
  TENSOR(amax, INPUT, "f32 [1]")                                                  \
  TENSOR(out_data_t, OUTPUT, "u8 [cols, align_up(rows, 16) / 2]")                 \
  TENSOR(out_scale_t, OUTPUT, "block scales of the transpose")                    \
  TENSOR(out_amax_t, OUTPUT, "f32 [1]")                                           \
  COUNT(cols, 0, "0: all codes of a row")                                         \
  WORD(layout, ScaleLayout, "where the block scales lie")

#endif
