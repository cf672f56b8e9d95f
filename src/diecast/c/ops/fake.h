/* Fake quantization and amaxes in the table of ops; see diecast/c/ops.h. */
#ifndef DIECAST_C_OPS_FAKE_H
#define DIECAST_C_OPS_FAKE_H

#define DIECAST_AMAX(TENSOR, WORD, FLAG, COUNT, REAL)                                     \
  TENSOR(x, INPUT, "bf16, f16, f32 or e4m3 [.., K]; rows may be apart")                   \
  TENSOR(device_rows, OPTIONAL_INPUT, "i64 [1]: how many rows are real")                  \
  TENSOR(out, OUTPUT, "f32: [1], [rows], [K], [rows, K / block] or [rows / 16, K / 16]")  \
  WORD(per, AmaxPer, "what one maximum is of")                                            \
  WORD(nans, AmaxNans, "whether NaN is left out or makes the result NaN")                 \
  WORD(transform, AmaxTransform, "the maximum of the Hadamard transform in blocks of 16") \
  COUNT(sign_mask, 0, "of the transform: bit i flips the sign of element i of 16")        \
  COUNT(block, 16, "of maxima per block: 8, 16, 32, 64 or 128 neighbours")                \
  FLAG(accumulate, "the result is the maximum of what is in it and of x")

#define DIECAST_COMPUTE_FP4_SCALES(TENSOR, WORD, FLAG, COUNT, REAL)             \
  TENSOR(amax, INPUT, "f32, any shape, dense: the blocks' amaxes")              \
  TENSOR(global_amax, OPTIONAL_INPUT, "f32 [1]; without: the largest of amax")  \
  TENSOR(out, OUTPUT, "f32 of amax's shape: the blocks' scales")                \
  TENSOR(scratch, SCRATCH, "f32 [1], where global_amax is to be found")         \
  FLAG(unrounded, "scales are not rounded to E4M3; global_amax is then unused") \
  WORD(fp8, Fp8Conversion, "which of ModelOpt's two FP8 conversions")

#define DIECAST_STATIC_BLOCKWISE_FP4_FAKE_QUANT(TENSOR, WORD, FLAG, COUNT, REAL)      \
  TENSOR(x, INPUT, "bf16, f16 or f32, dense")                                         \
  TENSOR(amax, INPUT, "f32, dense: one for every 8, 16, 32, 64 or 128 elements of x") \
  TENSOR(global_amax, OPTIONAL_INPUT, "f32 [1]; without: the largest of amax")        \
  TENSOR(out, OUTPUT, "of x's shape, bf16, f16 or f32")                               \
  TENSOR(scratch, SCRATCH, "f32 [1], where global_amax is to be found")               \
  FLAG(unrounded, "scales are not rounded to E4M3; global_amax is then unused")       \
  WORD(fp8, Fp8Conversion, "which of ModelOpt's two FP8 conversions")

#define DIECAST_FP4_FAKE_QUANT_BLOCK(TENSOR, WORD, FLAG, COUNT, REAL)    \
  TENSOR(x, INPUT, "bf16, f16 or f32 [.., K]; rows may be apart")        \
  TENSOR(global_amax, INPUT, "f32 [1]: the tensor's amax")               \
  TENSOR(device_rows, OPTIONAL_INPUT, "i64 [1]: how many rows are real") \
  TENSOR(out, OUTPUT, "of x's shape and type; rows may be apart")        \
  COUNT(block_size, 16, "8, 16, 32, 64 or 128 neighbours of a row")

#endif
