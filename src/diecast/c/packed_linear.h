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

/* The options of a call with such a weight; the others have their defaults. */
static inline diecast_linear_options diecast_linear_of(const diecast_packed_linear* weight) {
  diecast_linear_options options = diecast_linear_defaults();
  options.format = weight->format;
  options.gated = weight->gated;
  options.rows = weight->rows;
  options.cols = weight->cols;
  options.version = weight->version;
  options.weights = weight->weights;
  return options;
}
static inline diecast_unpack_linear_options diecast_unpack_linear_of(
    const diecast_packed_linear* weight) {
  diecast_unpack_linear_options options = diecast_unpack_linear_defaults();
  options.format = weight->format;
  options.gated = weight->gated;
  options.rows = weight->rows;
  options.cols = weight->cols;
  options.version = weight->version;
  options.weights = weight->weights;
  return options;
}

#ifdef __cplusplus
}
#endif
#endif
