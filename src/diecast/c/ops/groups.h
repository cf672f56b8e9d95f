/* Ops over the members of a group, such as the experts of a layer; see diecast/c/ops.h. */
#ifndef DIECAST_C_OPS_GROUPS_H
#define DIECAST_C_OPS_GROUPS_H

#define DIECAST_QUANTIZE_NVFP4_GROUPED(TENSOR, WORD, FLAG, COUNT, REAL)                        \
  TENSOR(x, INPUT, "bf16, f16, f32 or e4m3 [rows, K]: members one behind another")             \
  TENSOR(row_offsets, INPUT,                                                                   \
         "i64 [members + 1] from 0 to rows: member i has offset i up to i + 1")                \
  TENSOR(row_counts, OPTIONAL_INPUT, "i32 [members]: how many of a member's rows are real")    \
  TENSOR(amax, OPTIONAL_INPUT, "f32 [members], row-scaled [rows]: the amaxes to scale by")     \
  TENSOR(encode, OPTIONAL_INPUT, "f32 like amax: the encode scales instead")                   \
  TENSOR(decode, OPTIONAL_INPUT, "f32 like amax: the decode scales instead")                   \
  TENSOR(rng_state, OPTIONAL_INPUT, "i64 [2], seed and offset: rounds stochastically")         \
  TENSOR(out_data, OUTPUT, "u8 [rows, align_up(K, 16) / 2]")                                   \
  TENSOR(out_scale, OUTPUT, "e4m3 bytes; tiled: each member's rows are padded to whole tiles") \
  TENSOR(out_amax, OUTPUT, "f32 [members], row-scaled [rows]: the amaxes that were found")     \
  TENSOR(members, SCRATCH, "u8: the members' descriptors")                                     \
  WORD(layout, ScaleLayout, "where the block scales lie")                                      \
  WORD(profile, Profile, "whose bits")                                                         \
  FLAG(square, "blocks of 16x16, not 1x16")                                                    \
  FLAG(row_scaled, "one global scale a row, not one a member")                                 \
  COUNT(e4m3_bound, 448, "the block scale that the global scale aims at: 448 or 256")          \
  WORD(four_over_six, FourOverSix, "two scales tried for each block")                          \
  WORD(rht, TransformedSides, "rowwise: the rows are Hadamard-transformed first")              \
  COUNT(sign_mask, 55272, "rht: bit i flips the sign of element i of 16")

#define DIECAST_QUANTIZE_MX_GROUPED(TENSOR, WORD, FLAG, COUNT, REAL)                           \
  TENSOR(x, INPUT, "bf16, f16 or f32 [rows, K]: members one behind another")                   \
  TENSOR(row_offsets, INPUT,                                                                   \
         "i64 [members + 1] from 0 to rows: member i has offset i up to i + 1")                \
  TENSOR(row_counts, OPTIONAL_INPUT, "i32 [members]: how many of a member's rows are real")    \
  TENSOR(out_data, OUTPUT, "mxfp8: [rows, K]; mxfp4: u8 [rows, align_up(K, 32) / 2]")          \
  TENSOR(out_scale, OUTPUT, "e8m0 bytes; tiled: each member's rows are padded to whole tiles") \
  TENSOR(members, SCRATCH, "u8: the members' descriptors")                                     \
  WORD(format, MxFormat, "what is written")                                                    \
  WORD(layout, ScaleLayout, "where the block scales lie")                                      \
  WORD(profile, Profile, "whose bits")                                                         \
  WORD(mode, MxMode, "how a block's scale becomes a power of two; others: profile torchao")    \
  FLAG(square, "blocks of 32x32, not 1x32")

#endif
