// Launches of linear layers, with a map of x for the kernels that find it by one.
#pragma once

#include <diecast/kernel_arguments.h>
#include <diecast/launch/driver.h>
#include <diecast/launch/tensor_map.h>
#include <diecast/ops/linear/linear_kernels.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <string_view>

namespace diecast {

// The arguments of the kernel of the same op that takes a map, which outlives what is returned.
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
          .settled = all.settled,
          .x_map = map};
}

inline args::LinearExpertsWgmma with_map(const args::LinearExperts& all,
                                         const cuda::TensorMap& map) {
  return {.x = all.x,
          .packed = all.packed,
          .factor = all.factor,
          .routing = all.routing,
          .bias = all.bias,
          .out = all.out,
          .rows = all.rows,
          .cols = all.cols,
          .depth = all.depth,
          .experts = all.experts,
          .fan_out = all.fan_out,
          .x_map = map};
}

// Launches the soonest kernel.
template <class Arguments>
Result<void> launch_linear(std::string_view op, const LinearKernels& kernels,
                           const LinearSize& size, const Tensor& x, const Arguments& arguments,
                           Stream stream) {
  const LinearKernels::Entry& serving = kernels.serving(size);
  const Kernel& kernel = *serving.kernel;
  if (!serving.mapped) return launch_op(op, kernel, arguments, stream);
  DIECAST_TRY(const auto map,
              map_boxes(kernel.device(), {x.dtype, x.data, x.rows(), x.cols(), x.stride()}));
  return launch_op(op, kernel, with_map(arguments, map), stream);
}

}  // namespace diecast
