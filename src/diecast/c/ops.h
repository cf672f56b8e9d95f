/* The one table of ops: each one's number, tensors and options. The structures and functions below,
 * the library's descriptions (diecast_op_describe) and through them the Python functions and their
 * stubs all come from it. Lines of the table:
 *
 * TENSOR(field, ROLE, "types and shape"): an input, an optional input (null: none), an output or
 * scratch.
 *
 * WORD(field, Enumeration, "what it is"): const char*, one of diecast_op_option.words; null is the
 * first.
 *
 * FLAG(field, "what it is"): int64_t, 0 or 1; 0 by default.
 *
 * COUNT(field, default, "what it is"): int64_t. REAL(field, default, "what it is"): double.
 *
 * Lines are added at the end of their kind, and ops at the end of the list, so that structures and
 * numbers stay as they are. Outputs are the caller's memory. */
#ifndef DIECAST_C_OPS_H
#define DIECAST_C_OPS_H

#include <diecast/c/abi.h>
#include <diecast/c/ops/fake.h>
#include <diecast/c/ops/gemm.h>
#include <diecast/c/ops/groups.h>
#include <diecast/c/ops/linear.h>
#include <diecast/c/ops/mx.h>
#include <diecast/c/ops/nvfp4.h>

#define DIECAST_OPS(OP)                                                                         \
  OP(1, quantize_nvfp4, DIECAST_QUANTIZE_NVFP4,                                                 \
     "Quantizes to NVFP4: E2M1 codes, an E4M3 scale for every 16 and a global scale.")          \
  OP(2, dequantize_nvfp4, DIECAST_DEQUANTIZE_NVFP4, "NVFP4 codes and scales back to numbers.")  \
  OP(3, fp4_dequantize, DIECAST_FP4_DEQUANTIZE, "ModelOpt's packed form back to numbers.")      \
  OP(4, quantize_mx, DIECAST_QUANTIZE_MX, "Quantizes to MXFP8 or MXFP4.")                       \
  OP(5, dequantize_mx, DIECAST_DEQUANTIZE_MX, "MXFP8 or MXFP4 back to numbers.")                \
  OP(6, amax, DIECAST_AMAX, "Largest magnitudes: of a tensor, rows, columns, blocks or tiles.") \
  OP(7, compute_fp4_scales, DIECAST_COMPUTE_FP4_SCALES,                                         \
     "ModelOpt's block scales from the blocks' amaxes.")                                        \
  OP(8, static_blockwise_fp4_fake_quant, DIECAST_STATIC_BLOCKWISE_FP4_FAKE_QUANT,               \
     "ModelOpt's fake quantization under given amaxes.")                                        \
  OP(9, fp4_fake_quant_block, DIECAST_FP4_FAKE_QUANT_BLOCK,                                     \
     "ModelOpt's fake quantization, each block under its own amax.")                            \
  OP(10, gemm_nvfp4, DIECAST_GEMM_NVFP4,                                                        \
     "The product of two NVFP4 matrices: a times b transposed.")                                \
  OP(11, arrange_scales, DIECAST_ARRANGE_SCALES, "Block scales from one layout to another.")    \
  OP(12, transpose_codes, DIECAST_TRANSPOSE_CODES, "Transposes packed E2M1 codes.")             \
  OP(13, transpose_nvfp4, DIECAST_TRANSPOSE_NVFP4,                                              \
     "The columnwise side of NVFP4 in 16x16 blocks, from the rowwise one.")                     \
  OP(14, quantize_nvfp4_grouped, DIECAST_QUANTIZE_NVFP4_GROUPED,                                \
     "quantize_nvfp4 of each member of a group, in one launch.")                                \
  OP(15, quantize_mx_grouped, DIECAST_QUANTIZE_MX_GROUPED,                                      \
     "quantize_mx of each member of a group, in one launch.")                                   \
  OP(16, pack_linear, DIECAST_PACK_LINEAR,                                                      \
     "NVFP4 or MXFP4 weights into the tiles that linear multiplies.")                           \
  OP(17, unpack_linear, DIECAST_UNPACK_LINEAR, "Packed weights back to a checkpoint's bytes.")  \
  OP(18, linear, DIECAST_LINEAR, "x times the transpose of a packed weight, and what follows.") \
  OP(19, linear_experts, DIECAST_LINEAR_EXPERTS, "linear with the weight of a row's expert.")   \
  OP(20, combine_experts, DIECAST_COMBINE_EXPERTS,                                              \
     "Sums of experts' results under the router's weights.")

#ifdef __cplusplus
extern "C" {
#endif

DIECAST_C_API int32_t diecast_op_call(diecast_handle runtime, diecast_handle device, uint32_t op,
                                      const void* tensors, const void* options, void* stream,
                                      int32_t found_only);

#define DIECAST_C_TENSOR(field, role, what) const diecast_tensor* field;
#define DIECAST_C_WORD(field, enumeration, what) const char* field;
#define DIECAST_C_FLAG(field, what) int64_t field;
#define DIECAST_C_COUNT(field, fallback, what) int64_t field;
#define DIECAST_C_REAL(field, fallback, what) double field;
#define DIECAST_C_SET_WORD(field, enumeration, what) options.field = 0;
#define DIECAST_C_SET_FLAG(field, what) options.field = 0;
#define DIECAST_C_SET_NUMBER(field, fallback, what) options.field = fallback;
#define DIECAST_C_NO_TENSOR(field, role, what)
#define DIECAST_C_NO_WORD(field, enumeration, what)
#define DIECAST_C_NO_FLAG(field, what)
#define DIECAST_C_NO_NUMBER(field, fallback, what)

/* For the op quantize_nvfp4: diecast_quantize_nvfp4_tensors, diecast_quantize_nvfp4_options with
 * diecast_quantize_nvfp4_defaults(), and the plain function diecast_quantize_nvfp4, as
 * diecast_op_call. options may be null. */
#define DIECAST_C_OP(number, name, TABLE, what)                                                 \
  enum { diecast_op_##name = number };                                                          \
  typedef struct diecast_##name##_tensors {                                                     \
    size_t size;                                                                                \
    TABLE(DIECAST_C_TENSOR, DIECAST_C_NO_WORD, DIECAST_C_NO_FLAG, DIECAST_C_NO_NUMBER,          \
          DIECAST_C_NO_NUMBER)                                                                  \
  } diecast_##name##_tensors;                                                                   \
  typedef struct diecast_##name##_options {                                                     \
    size_t size;                                                                                \
    TABLE(DIECAST_C_NO_TENSOR, DIECAST_C_WORD, DIECAST_C_FLAG, DIECAST_C_COUNT, DIECAST_C_REAL) \
  } diecast_##name##_options;                                                                   \
  static inline diecast_##name##_options diecast_##name##_defaults(void) {                      \
    diecast_##name##_options options;                                                           \
    options.size = sizeof options;                                                              \
    TABLE(DIECAST_C_NO_TENSOR, DIECAST_C_SET_WORD, DIECAST_C_SET_FLAG, DIECAST_C_SET_NUMBER,    \
          DIECAST_C_SET_NUMBER)                                                                 \
    return options;                                                                             \
  }                                                                                             \
  static inline int32_t diecast_##name(diecast_handle runtime, diecast_handle device,           \
                                       const diecast_##name##_tensors* tensors,                 \
                                       const diecast_##name##_options* options, void* stream) { \
    return diecast_op_call(runtime, device, number, tensors, options, stream, 0);               \
  }
DIECAST_OPS(DIECAST_C_OP)

#undef DIECAST_C_OP
#undef DIECAST_C_TENSOR
#undef DIECAST_C_WORD
#undef DIECAST_C_FLAG
#undef DIECAST_C_COUNT
#undef DIECAST_C_REAL
#undef DIECAST_C_SET_WORD
#undef DIECAST_C_SET_FLAG
#undef DIECAST_C_SET_NUMBER
#undef DIECAST_C_NO_TENSOR
#undef DIECAST_C_NO_WORD
#undef DIECAST_C_NO_FLAG
#undef DIECAST_C_NO_NUMBER

#ifdef __cplusplus
}
#endif
#endif
