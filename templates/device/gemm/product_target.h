// Where a tile of an NVFP4 product goes.
#pragma once

#include <diecast/device/gemm/finished.h>

namespace diecast {

template <bool ARowScale, bool BRowScale, bool Bias, bool Accumulate, class Out, class BiasType>
struct ProductTarget {
  Out* out;                    // its first element
  i64 stride, rows, cols;      // elements to the next row; rows and columns to the end
  const f32 *a_amax, *b_amax;  // with an entry a row: of the tile's first
  const BiasType* bias;
  f32 factor;
  bool once;  // both amaxes as one product

  DIECAST_DEVICE void store(f32 sum, int row, int col) const {
    if (row >= rows || col >= cols) return;
    Out& to = out[row * stride + col];
    to = of(sum, row, col, Accumulate ? to_f32(to) : 0.0f);
  }

  // What becomes of a sum; `before`: what is there, where it is added to.
  DIECAST_DEVICE Out of(f32 sum, int row, int col, f32 before) const {
    return finished<(ARowScale || BRowScale), Bias, Accumulate, Out>(sum * factor, a_amax + (ARowScale ? row : 0),
                                                                     b_amax + (BRowScale ? col : 0), once, bias + col, before);
  }
};

}  // namespace diecast
