// What replays reference vectors without a device: the scalar reference of the ops.
#pragma once

#include <diecast/checkpoint/vectors.h>
#include <diecast/ops/reference/nvfp4.h>

namespace diecast::testing {

inline VectorKernels reference_vector_kernels() {
  return {[](const Nvfp4VectorInput& in) -> Result<Nvfp4VectorOutput> {
    Bytes copy(in.x.begin(), in.x.end());
    const Tensor x = {copy.data(), in.dtype, Shape{in.rows, in.cols}, 0, nullptr};
    reference::Nvfp4Options options;
    options.profile = in.profile;
    options.global = in.global;
    options.row_scaled = in.row_scaled;
    options.four_over_six = in.four_over_six;
    options.bound = in.e4m3_bound;
    options.block_amax = in.block_amax;
    std::vector<float> given = in.given;
    if (given.empty() && in.global == GlobalScale::amax) {
      DIECAST_TRY(given, reference::amax(x, options));
    }
    DIECAST_TRY(auto q, reference::quantize_nvfp4(x, options, std::move(given)));
    return Nvfp4VectorOutput{std::move(q.codes), std::move(q.scales), std::move(q.amax)};
  }};
}

}  // namespace diecast::testing
