/* The structures of the C interface's checkpoints; they grow at their end. */
#ifndef DIECAST_C_CHECKPOINTS_H
#define DIECAST_C_CHECKPOINTS_H

#include <diecast/c/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What `diecast quantize` has. All zeros are its defaults; its help says more of each. */
typedef struct diecast_quantize_folder_options {
  size_t size;
  const char* profile;       /* null: te */
  const char* four_over_six; /* null: off; mae, mse */
  int32_t e4m3_bound;        /* 0: 448 */
  int32_t row_scaled, strict;
  const char* const* include; /* globs */
  size_t include_count;
  const char* const* exclude;
  size_t exclude_count;
  const char* format;       /* null: nvfp4; nvfp4-w4a16, mxfp8, mxfp4 */
  const char* config;       /* null: what most engines read; modelopt, compressed-tensors, sglang */
  const char* recipe;       /* null: default; experts, mlp, mlp+o */
  const char* experts;      /* null: split; fused */
  const char* scale_layout; /* of another tool's NVFP4: linear, s128x4, s8x4; null: unknown */
  const char* input_scales; /* a file with those of single modules */
  const char* const* keep;  /* globs */
  size_t keep_count;
  const char* const* mxfp8;
  size_t mxfp8_count;
  int64_t first_layers, last_layers; /* that are copied */
  int64_t jobs;                      /* 0: as many as suit the device */
  double input_scale;                /* amax / 2688 of activations; 0: 1 */
  int32_t high_first; /* of another tool's NVFP4: of two codes the second has the low bits */
  int32_t force, allow_nonfinite, keep_fp8, overwrite;
} diecast_quantize_folder_options;

typedef struct diecast_folder_report {
  size_t size;
  uint64_t copied, quantized, input_bytes, output_bytes, nonfinite; /* tensors; bytes */
  uint64_t dequantized;
  uint64_t cast_blocks, exact_blocks; /* that were MXFP4: all, and those without rounding */
} diecast_folder_report;

/* A weight that is new while an engine serves a quantized folder. */
typedef struct diecast_new_weight {
  const char* name;             /* as the model without quantization has it */
  const diecast_tensor* tensor; /* dense; preparing looks at its type and shape alone */
  const diecast_tensor* amax;   /* f32 [1], of all that share its scale; null: it is found */
  float input_scale;            /* amax / 2688 of its inputs; 0: 1 */
} diecast_new_weight;

typedef struct diecast_quantize_for_options {
  size_t size;
  const char* profile;       /* null: te */
  const char* four_over_six; /* null: off; mae, mse */
  int32_t e4m3_bound;        /* 0: 448 */
  int32_t whole_families;    /* the model has no others of what shares a scale */
} diecast_quantize_for_options;

/* A tensor of the folder, to be written. */
typedef struct diecast_stored_tensor {
  const char* name;  /* as the quantized folder has it; lives as long as what is prepared */
  const char* dtype; /* as safetensors has it: "U8", "F8_E4M3", "F32" */
  int32_t ndim;
  int64_t shape[8];
  uint64_t bytes;
} diecast_stored_tensor;

#ifdef __cplusplus
}
#endif
#endif
