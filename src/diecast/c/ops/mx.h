/* The MX formats in the table of ops; see diecast/c/ops.h. */
#ifndef DIECAST_C_OPS_MX_H
#define DIECAST_C_OPS_MX_H

#define DIECAST_QUANTIZE_MX(TENSOR, WORD, FLAG, COUNT, REAL)                                      \
  TENSOR(x, INPUT, "bf16, f16 or f32 [.., K]; rows may be apart")                                 \
  TENSOR(device_rows, OPTIONAL_INPUT, "i64 [1]: how many rows are real, read at each launch")     \
  TENSOR(out_data, OUTPUT, "mxfp8: e4m3 or e5m2 [.., K]; mxfp4: u8 [.., align_up(K, 32) / 2]")    \
  TENSOR(out_scale, OUTPUT, "e8m0 bytes: linear [.., K/32], else padded to whole tiles")          \
  TENSOR(out_data_t, OUTPUT, "columnwise: mxfp8 [rows, K], mxfp4 u8 [K, align_up(rows, 32) / 2]") \
  TENSOR(out_scale_t, OUTPUT, "e8m0 bytes: linear mxfp8 [rows/32, K], else of the transpose")     \
  WORD(format, MxFormat, "what is written")                                                       \
  WORD(direction, Sides, "which sides are written, where outputs are left out")                   \
  WORD(layout, ScaleLayout, "where the block scales lie")                                         \
  WORD(profile, Profile, "whose bits")                                                            \
  WORD(mode, MxMode, "how a block's scale becomes a power of two; others: profile torchao")       \
  FLAG(square, "blocks of 32x32, not 1x32")

#define DIECAST_DEQUANTIZE_MX(TENSOR, WORD, FLAG, COUNT, REAL)                         \
  TENSOR(data, INPUT, "codes, as quantize_mx writes them")                             \
  TENSOR(scale, INPUT, "block scales")                                                 \
  TENSOR(device_rows, OPTIONAL_INPUT, "i64 [1]: how many rows are real")               \
  TENSOR(out, OUTPUT, "bf16, f16 or f32 [.., K]; rows may be apart")                   \
  WORD(format, MxFormat, "what data holds")                                            \
  WORD(dtype, FloatType, "of the output, where it is left out")                        \
  COUNT(cols, 0, "K, where the output is left out and mxfp4's K is no multiple of 32") \
  WORD(layout, ScaleLayout, "where the block scales lie")                              \
  FLAG(square, "blocks of 32x32")                                                      \
  FLAG(columnwise, "data and scale are the columnwise side")                           \
  COUNT(rows, 0, "columnwise mxfp4: rows of the output, where it is left out")

#endif
