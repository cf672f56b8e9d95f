/* The types and numbers of the C interface: they never change; structures grow at their end. */
#ifndef DIECAST_C_ABI_H
#define DIECAST_C_ABI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DIECAST_C_API __attribute__((visibility("default")))
#else
#define DIECAST_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Number, word and meaning of every error. A number never gets another meaning. */
#define DIECAST_C_CODES(X)    \
  X(1, invalid_argument)      \
  X(2, parse_error)           \
  X(3, unknown_template)      \
  X(4, unknown_parameter)     \
  X(5, unknown_target)        \
  X(6, value_not_allowed)     \
  X(7, value_missing)         \
  X(8, constraint_violated)   \
  X(9, target_not_supported)  \
  X(10, compiler_unavailable) \
  X(11, compile_failed)       \
  X(12, not_cached)           \
  X(13, frozen)               \
  X(14, not_resident)         \
  X(15, driver_unavailable)   \
  X(16, driver_error)         \
  X(17, no_device)            \
  X(18, out_of_memory)        \
  X(19, shape_mismatch)       \
  X(20, dtype_mismatch)       \
  X(21, misaligned)           \
  X(22, missing_buffer)       \
  X(23, not_supported)        \
  X(24, results_differ)       \
  X(25, nonfinite_values)     \
  X(26, divergent_barrier)    \
  X(27, io_error)             \
  X(28, file_not_found)       \
  X(29, file_exists)          \
  X(30, file_corrupt)         \
  X(31, unsafe_directory)     \
  X(32, timed_out)            \
  X(33, process_failed)       \
  X(34, internal)             \
  X(35, assertion_failed)

#define DIECAST_C_ENUMERATOR(number, word) diecast_##word = number,
enum diecast_code {
  diecast_ok = 0,
  DIECAST_C_CODES(DIECAST_C_ENUMERATOR) DIECAST_NOT_PREPARED =
      -1 /* no error: diecast_op_call with found_only */
};
#undef DIECAST_C_ENUMERATOR

typedef uint64_t diecast_handle; /* 0 is no object */

typedef struct diecast_error {
  size_t size; /* sizeof(diecast_error), as in every structure that begins so */
  int32_t code;
  const char* word;
  const char* what; /* what happened, with the values */
  const char* fix;  /* what mends it */
} diecast_error;

/* A text or bytes, which the library writes into the caller's buffer. `needed` gets the size of the
 * whole, without the 0 behind it; where the buffer is too small (or null) nothing is written, and
 * that is no error. */
typedef struct diecast_text {
  char* buffer;
  size_t capacity;
  size_t needed;
} diecast_text;

/* A tensor: the DLTensor of DLPack 1.x to the byte, so that a pointer to one may be cast. Devices:
 * CPU 1, CUDA 2, pinned host memory 3, CUDA managed memory 13. strides may be null: dense. */
typedef struct diecast_tensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t type_code, type_bits;
  uint16_t type_lanes;
  int64_t* shape;
  int64_t* strides; /* in elements */
  uint64_t byte_offset;
} diecast_tensor;

/* ---- runtimes ---- */

/* What diecast did: "compiled", "found", "loaded", "failed" and so on (src/README.md names them).
 * It is called on the thread where it happened, several threads at once; the texts live until it
 * returns. It may call the library, but may not close objects. */
typedef void (*diecast_event_callback)(void* user, const char* event, const char* spelling,
                                       const char* detail, double milliseconds);

/* A line of what a call makes; it may call the library, but may not close objects. */
typedef void (*diecast_line_callback)(void* user, const char* line);

/* Null: what the environment says. */
typedef struct diecast_runtime_options {
  size_t size;
  const char* cache;        /* DIECAST_CACHE: "off", a directory, or roots */
  const char* cache_policy; /* auto, require-hit, read-only, off, rebuild */
  const char* template_directory;
  const char* tuning; /* files of tuning records, separated by commas */
  const char* trace;
  const char* nvrtc;         /* the path of libnvrtc.so */
  const char* host_compiler; /* the C++ compiler of the host target */
  diecast_event_callback on_event;
  void* user;
} diecast_runtime_options;

enum diecast_origin { DIECAST_FROM_MEMORY = 0, DIECAST_FROM_DISK = 1, DIECAST_COMPILED = 2 };

/* Machine code, and what its compiler told of it. */
typedef struct diecast_artifact_info {
  size_t size;
  int32_t origin;
  int32_t is_cubin;  /* else a shared object of the host */
  int32_t registers; /* a thread's; 0 on the host */
  int32_t spill_bytes, local_bytes, static_shared_bytes;
  double compile_ms;
} diecast_artifact_info;

typedef struct diecast_warm_counts {
  size_t size;
  uint64_t wanted, compiled, found, failed;
} diecast_warm_counts;

typedef struct diecast_counters {
  size_t size;
  uint64_t rendered, memory_hits, disk_hits, compiled, failed, published, loaded, waited, late,
      refused, pruned, ignored, degraded;
} diecast_counters;

typedef struct diecast_device_info {
  size_t size;
  char name[128];
  char target[32];    /* the best target it runs: "sm_90a", "host-avx2" */
  int32_t ordinal;    /* of a CUDA device */
  int32_t capability; /* compute capability times ten; 0: the host */
  int32_t multiprocessors;
  int64_t memory_bytes;
} diecast_device_info;

/* ---- arguments of a kernel ---- */

enum diecast_argument_kind {
  DIECAST_TENSOR = 0,      /* tensor */
  DIECAST_SIZE = 1,        /* integer */
  DIECAST_DEVICE_SIZE = 2, /* tensor: an i64 on the device; integer: its upper bound */
  DIECAST_INTEGER = 3,     /* integer: an i32, u32 or i64 scalar, as the header says */
  DIECAST_NUMBER = 4,      /* number: an f32 scalar */
  DIECAST_BYTES = 5        /* bytes, integer many: a structure by value */
};
typedef struct diecast_argument {
  const char* name;
  int32_t kind;
  const diecast_tensor* tensor;
  int64_t integer;
  double number;
  const void* bytes;
} diecast_argument;

/* ---- ops ---- */

enum diecast_role {
  DIECAST_INPUT = 0,
  DIECAST_OPTIONAL_INPUT = 1,
  DIECAST_OUTPUT = 2,
  DIECAST_SCRATCH = 3
};
enum diecast_option_kind {
  DIECAST_WORD = 0,
  DIECAST_FLAG = 1,
  DIECAST_COUNT = 2,
  DIECAST_REAL = 3
};

typedef struct diecast_op_tensor {
  const char* name; /* the field's; that of an output begins with out_ */
  int32_t role;
  const char* what; /* types and shape in words */
} diecast_op_tensor;

typedef struct diecast_op_option {
  const char* name;
  int32_t kind;
  const char* words; /* a word's: separated by spaces, the default first */
  int64_t integer;   /* the default of a flag or count */
  double real;
  const char* what;
} diecast_op_option;

typedef struct diecast_op_info {
  uint32_t number;
  const char* name;
  const char* what;
  const diecast_op_tensor* tensors; /* in the order of the structure's fields */
  size_t tensor_count;
  const diecast_op_option* options;
  size_t option_count;
} diecast_op_info;

typedef struct diecast_output {
  uint32_t index;    /* of the op's tensors */
  const char* dtype; /* "bf16", "u8" */
  int32_t ndim;
  int64_t shape[8];
} diecast_output;

/* ---- weights that ranks share ---- */

/* The ranks of a framework's group, which call each other by its functions. Both get memory of the
 * device, in the stream's order, and return 0, or another number: it failed. */
typedef struct diecast_ranks {
  size_t size;
  int32_t rank, count;
  void* user;
  /* Each value becomes the largest of all ranks'. None is NaN. */
  int32_t (*all_reduce_max)(void* user, float* values, int64_t count, void* stream);
  /* Rank r's part of the buffer is counts[r] bytes at offsets[r]; every rank gets all parts. */
  int32_t (*all_gather)(void* user, void* buffer, const int64_t* offsets, const int64_t* counts,
                        void* stream);
} diecast_ranks;

/* A weight in NVFP4 with 16x16 blocks, and this rank's shard of its master. */
typedef struct diecast_master_weight {
  const diecast_tensor* data;   /* u8 [rows, align_up(cols, 16) / 2] */
  const diecast_tensor* scale;  /* E4M3 bytes in the layout */
  const diecast_tensor* amax;   /* f32 [1] */
  const diecast_tensor* master; /* f32 or bf16, dense; null: this rank has none of it */
  int64_t start;                /* the flat index of master's first element */
  int64_t cols;                 /* 0: all codes of a row */
} diecast_master_weight;

typedef struct diecast_master_cast_options {
  size_t size;
  const char* model;     /* what master values are rounded to first: bf16 (null), f16, f32 */
  const char* layout;    /* where block scales lie: linear (null), s128x4, s8x4 */
  int32_t keep_shards;   /* codes are not gathered: each rank has its own */
  int32_t padded_scales; /* linear scales lie in 128n rows of 4n columns */
  /* Not null: why this rank's caller cannot give its weights, of which none are read. The call
   * tells the other ranks, which wait for it: all fail with it. fault_fix: what mends it. */
  const char* fault;
  const char* fault_fix;
} diecast_master_cast_options;

#ifdef __cplusplus
}
#endif
#endif
