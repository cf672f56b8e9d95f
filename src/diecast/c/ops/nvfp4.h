/* NVFP4 in the table of ops; see diecast/c/ops.h. */
#ifndef DIECAST_C_OPS_NVFP4_H
#define DIECAST_C_OPS_NVFP4_H

#define DIECAST_QUANTIZE_NVFP4(TENSOR, WORD, FLAG, COUNT, REAL)                                \
  TENSOR(x, INPUT, "bf16, f16, f32 or e4m3 [.., K]; rows may be apart")                        \
  TENSOR(amax, OPTIONAL_INPUT, "f32 [1], row-scaled [rows]: the amax to scale by")             \
  TENSOR(encode, OPTIONAL_INPUT, "f32 like amax: the encode scale instead (2688 / amax)")      \
  TENSOR(decode, OPTIONAL_INPUT, "f32 like amax: the decode scale instead (amax / 2688)")      \
  TENSOR(amax_t, OPTIONAL_INPUT, "the same of the columns, where theirs is another")           \
  TENSOR(encode_t, OPTIONAL_INPUT, "the same of the columns")                                  \
  TENSOR(decode_t, OPTIONAL_INPUT, "the same of the columns")                                  \
  TENSOR(block_amax, OPTIONAL_INPUT, "f32 [rows, K/16]: profile modelopt, from calibration")   \
  TENSOR(block_amax_t, OPTIONAL_INPUT, "f32 [K, rows/16]")                                     \
  TENSOR(rng_state, OPTIONAL_INPUT, "i64 [2], seed and offset: rounds stochastically")         \
  TENSOR(device_rows, OPTIONAL_INPUT, "i64 [1]: how many rows are real, read at each launch")  \
  TENSOR(out_data, OUTPUT, "u8 [.., align_up(K, 16) / 2]: two codes a byte, low nibble first") \
  TENSOR(out_scale, OUTPUT, "e4m3 bytes: linear [.., K/16], else padded to whole tiles")       \
  TENSOR(out_amax, OUTPUT, "f32 [1], row-scaled [rows]: the amax that was found")              \
  TENSOR(out_data_t, OUTPUT, "the same of the transpose: u8 [K, align_up(rows, 16) / 2]")      \
  TENSOR(out_scale_t, OUTPUT, "e4m3 bytes, scales of the transpose")                           \
  TENSOR(out_amax_t, OUTPUT, "f32 [1], row-scaled [K]")                                        \
  WORD(direction, Sides, "which sides are written, where outputs are left out")                \
  WORD(layout, ScaleLayout, "where the block scales lie")                                      \
  WORD(profile, Profile, "whose bits")                                                         \
  FLAG(square, "blocks of 16x16, not 1x16")                                                    \
  FLAG(row_scaled, "one global scale a row, not one in all")                                   \
  COUNT(e4m3_bound, 448, "the block scale that the global scale aims at: 448 or 256")          \
  WORD(four_over_six, FourOverSix, "two scales tried for each block")                          \
  WORD(rht, TransformedSides, "the sides that are Hadamard-transformed first")                 \
  COUNT(sign_mask, 55272, "rht: bit i flips the sign of element i of 16")                      \
  FLAG(block_scales_alone, "no global scale: profiles te and torchao")

#define DIECAST_DEQUANTIZE_NVFP4(TENSOR, WORD, FLAG, COUNT, REAL)                            \
  TENSOR(data, INPUT, "codes, as quantize_nvfp4 writes them")                                \
  TENSOR(scale, INPUT, "block scales")                                                       \
  TENSOR(amax, OPTIONAL_INPUT, "f32 [1], row-scaled [rows]: the amax they were made with")   \
  TENSOR(decode, OPTIONAL_INPUT, "f32 like amax: the decode scale instead")                  \
  TENSOR(device_rows, OPTIONAL_INPUT, "i64 [1]: how many rows are real")                     \
  TENSOR(out, OUTPUT, "bf16, f16 or f32 [.., K]; rows may be apart")                         \
  WORD(dtype, FloatType, "of the output, where it is left out")                              \
  COUNT(cols, 0, "K, where the output is left out and K is no multiple of 16")               \
  WORD(layout, ScaleLayout, "where the block scales lie")                                    \
  WORD(profile, Profile, "whose bits they are")                                              \
  FLAG(square, "blocks of 16x16")                                                            \
  FLAG(row_scaled, "one global scale a row")                                                 \
  FLAG(columnwise, "data and scale are of the transpose: the columnwise side")               \
  COUNT(rows, 0, "columnwise: rows of the output, where it is left out; 0: of whole blocks") \
  COUNT(e4m3_bound, 448, "as they were made with")

#define DIECAST_FP4_DEQUANTIZE(TENSOR, WORD, FLAG, COUNT, REAL)          \
  TENSOR(data, INPUT, "u8 [.., K/2]: ModelOpt's packed codes")           \
  TENSOR(scale, INPUT, "e4m3 bytes [.., K / block_size]")                \
  TENSOR(decode, INPUT, "f32 [1]: ModelOpt's global scale")              \
  TENSOR(out, OUTPUT, "bf16, f16 or f32 [.., K]")                        \
  WORD(dtype, FloatType, "of the output, where it is left out")          \
  COUNT(block_size, 16, "8, 16, 32, 64 or 128 neighbours share a scale") \
  COUNT(tile_size, 128, "speed alone: 64 to 1024")

#endif
