/* A packed weight of a linear layer: a plain value, which is kept beside its bytes. */
#ifndef DIECAST_C_PACKED_LINEAR_H
#define DIECAST_C_PACKED_LINEAR_H

#include <diecast/c/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What diecast_pack_linear was asked for. diecast_linear checks it. */
typedef struct diecast_packed_linear {
  size_t size;
  int64_t version;    /* DIECAST_PACKED_LINEAR_VERSION where it was packed */
  const char* format; /* nvfp4 (null), mxfp4 */
  const char* gated;  /* none (null), halves, alternate */
  int64_t weights;    /* several, one behind another; 0: one, of two dimensions */
  int64_t rows, cols; /* of each: N and K */
} diecast_packed_linear;

/* Bytes of such a weight. Errors: value_missing (rows or cols), value_not_allowed (a word), and
 * those of diecast_linear for a version or shape that cannot be. */
DIECAST_C_API int32_t diecast_packed_linear_size(const diecast_packed_linear* weight,
                                                 int64_t* bytes);

/* diecast_linear_of() and diecast_unpack_linear_of(): the options of a call with such a weight; the
 * others have their defaults. */
#define DIECAST_C_OF_WEIGHT(op)                                                                 \
  static inline diecast_##op##_options diecast_##op##_of(const diecast_packed_linear* weight) { \
    diecast_##op##_options options = diecast_##op##_defaults();                                 \
    options.format = weight->format;                                                            \
    options.gated = weight->gated;                                                              \
    options.rows = weight->rows;                                                                \
    options.cols = weight->cols;                                                                \
    options.version = weight->version;                                                          \
    options.weights = weight->weights;                                                          \
    return options;                                                                             \
  }
DIECAST_C_OF_WEIGHT(linear)
DIECAST_C_OF_WEIGHT(unpack_linear)
#undef DIECAST_C_OF_WEIGHT

#ifdef __cplusplus
}
#endif
#endif
