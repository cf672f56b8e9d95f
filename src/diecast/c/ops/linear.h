/* Linear layers in the table of ops; see diecast/c/ops.h, and diecast/c/packed_linear.h for what
 * describes a packed weight. */
#ifndef DIECAST_C_OPS_LINEAR_H
#define DIECAST_C_OPS_LINEAR_H

#define DIECAST_PACKED_LINEAR_VERSION 1 /* of the layout of packed weights */

/* What is said of a packed weight beside its bytes. */
#define DIECAST_PACKED_LINEAR_OPTIONS(WORD, COUNT)                                     \
  WORD(format, PackedFormat, "what the packed weight is of")                           \
  WORD(gated, Gated, "how gate and up lay when it was packed")                         \
  COUNT(rows, 0, "N of the weight, to be given")                                       \
  COUNT(cols, 0, "K of the weight, to be given")                                       \
  COUNT(version, DIECAST_PACKED_LINEAR_VERSION, "of the layout that it was packed in") \
  COUNT(weights, 0, "several weights, one behind another; 0: one, of two dimensions")

#define DIECAST_PACK_LINEAR(TENSOR, WORD, FLAG, COUNT, REAL)                                      \
  TENSOR(data, INPUT, "a checkpoint's codes: u8 [.., N, K/2], one weight or several")             \
  TENSOR(scale, INPUT, "its linear block scales: bytes [.., N, K/16], of mxfp4 [.., N, K/32]")    \
  TENSOR(up_data, OPTIONAL_INPUT, "up's codes, where data and scale are gate's alone: as data")   \
  TENSOR(up_scale, OPTIONAL_INPUT, "up's block scales: as scale")                                 \
  TENSOR(out_packed, OUTPUT, "u8 [bytes]: all of it is written")                                  \
  TENSOR(out_status, OUTPUT, "i32 [4]: scales unfit for x of bf16, of f16; first rows, -1: none") \
  WORD(format, PackedFormat, "what data and scale hold")                                          \
  WORD(gated, Gated, "how rows of gate and up lie in them")                                       \
  FLAG(status, "out_status is written, where outputs are left out")

#define DIECAST_UNPACK_LINEAR(TENSOR, WORD, FLAG, COUNT, REAL)               \
  TENSOR(packed, INPUT, "u8 [bytes], as pack_linear writes it")              \
  TENSOR(out_data, OUTPUT, "u8 [.., N, K/2]")                                \
  TENSOR(out_scale, OUTPUT, "e4m3 [.., N, K/16], mxfp4: e8m0 [.., N, K/32]") \
  DIECAST_PACKED_LINEAR_OPTIONS(WORD, COUNT)

#define DIECAST_LINEAR(TENSOR, WORD, FLAG, COUNT, REAL)                                            \
  TENSOR(x, INPUT, "bf16 or f16 [.., K]; rows may be apart by multiples of 16 bytes")              \
  TENSOR(packed, INPUT, "u8 [bytes], as pack_linear writes it: one weight")                        \
  TENSOR(factor, INPUT, "f32 [1]: the global scale; of parts of a weight [N], of gate and up [2]") \
  TENSOR(bias, OPTIONAL_INPUT, "[N] of x's type: all of gate before all of up")                    \
  TENSOR(residual, OPTIONAL_INPUT, "of out's type and shape, dense: added last. It may be out")    \
  TENSOR(device_rows, OPTIONAL_INPUT, "i64 [1]: how many rows are real, read at each launch")      \
  TENSOR(out, OUTPUT, "bf16, f16 or f32 [.., N], of gate and up [.., N/2]; dense")                 \
  DIECAST_PACKED_LINEAR_OPTIONS(WORD, COUNT)                                                       \
  WORD(activation, Activation, "of the sums under factor and bias")                                \
  COUNT(split, 0, "parts of each sum: 1, 2, 4 or 8; 0: as N and K say")                            \
  WORD(dtype, FloatType, "of the output, where it is left out")                                    \
  FLAG(settled, "the launch before on the stream does not write packed: it may be read early")     \
  FLAG(fast, "many rows may be summed in one part: bits depend on how many there are")

#define DIECAST_LINEAR_EXPERTS(TENSOR, WORD, FLAG, COUNT, REAL)                                 \
  TENSOR(x, INPUT, "bf16 or f16 [.., K]; rows may be apart by multiples of 16 bytes")           \
  TENSOR(packed, INPUT, "u8 [bytes], as pack_linear writes it: a weight an expert")             \
  TENSOR(factor, INPUT, "f32 [experts], of gate and up [experts, 2]: the global scales")        \
  TENSOR(routing, INPUT,                                                                        \
         "i32 or i64 ids [.., k] of x's rows, i32 offsets [experts + 1], i32 counts [experts]") \
  TENSOR(bias, OPTIONAL_INPUT, "[experts, N] of x's type: all of gate before all of up")        \
  TENSOR(expert_map, OPTIONAL_INPUT,                                                            \
         "i32, of each expert that ids count which one of packed it is, -1: none")              \
  TENSOR(out, OUTPUT,                                                                           \
         "as of linear: by ids [.., k, N], else x's rows; those of no expert are kept")         \
  TENSOR(out_unexpected, OUTPUT,                                                                \
         "i32 [1], if it is given beside out: to it the ids are added of no expert but -1")     \
  DIECAST_PACKED_LINEAR_OPTIONS(WORD, COUNT)                                                    \
  WORD(form, RoutingForm, "what routing holds: ids, offsets or counts")                         \
  WORD(activation, Activation, "of the sums under factor and bias")                             \
  COUNT(split, 0, "parts of each sum: 1, 2, 4 or 8; 0: as N and K say")                         \
  WORD(dtype, FloatType, "of the output, where it is left out")                                 \
  FLAG(fast, "as of linear, by offsets or counts")

#define DIECAST_COMBINE_EXPERTS(TENSOR, WORD, FLAG, COUNT, REAL)                           \
  TENSOR(x, INPUT, "bf16, f16 or f32 [.., N], dense: a row for each of topk_ids")          \
  TENSOR(topk_ids, INPUT, "i32 or i64 [.., k]: each slot's expert")                        \
  TENSOR(topk_weights, INPUT, "f32 [.., k]: what each slot's row is multiplied by")        \
  TENSOR(expert_map, OPTIONAL_INPUT, "i32, as of linear_experts")                          \
  TENSOR(out, OUTPUT, "bf16, f16 or f32 [.., N], dense: a row for each of topk_ids' rows") \
  TENSOR(out_unexpected, OUTPUT, "i32 [1], if it is given: as of linear_experts")          \
  COUNT(experts, 0, "ids, or what a map gives, are from 0 up to this")                     \
  WORD(dtype, FloatType, "of the output, where it is left out")

#endif
