// The arguments of linear_wgmma: those of linear, and a map of x.
#pragma once

#include <diecast/kernel_arguments.h>
#include <diecast/launch/driver.h>

namespace diecast {

// The map outlives what is returned.
inline args::LinearWgmma with_map(const args::Linear& all, const cuda::TensorMap& map) {
  return {.x = all.x,
          .packed = all.packed,
          .factor = all.factor,
          .bias = all.bias,
          .residual = all.residual,
          .out = all.out,
          .rows = all.rows,
          .cols = all.cols,
          .depth = all.depth,
          .x_map = map};
}

}  // namespace diecast
