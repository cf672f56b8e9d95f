// What replays reference vectors without a device: the scalar reference of the ops.
#pragma once

#include <diecast/checkpoint/vectors.h>
#include <diecast/ops/reference/fp4_fake.h>
#include <diecast/ops/reference/mx.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>
#include <diecast/ops/reference/nvfp4_sides.h>

#include <algorithm>
#include <cmath>

namespace diecast::testing {

// In 16x16 blocks, or along columns too.
inline Nvfp4VectorOutput reference_sides(const Tensor& x, const Nvfp4VectorInput& in,
                                         const reference::Nvfp4Options& options) {
  Nvfp4VectorOutput out;
  out.amax = reference::amax_rowwise(x, options);
  auto rows = reference::quantize_rowwise(x, {options, in.type.square}, out.amax);
  out.codes = std::move(rows.codes);
  out.scales = std::move(rows.scales);
  if (!in.columnwise) return out;
  out.amax_t = reference::amax_columnwise(x, options);
  auto columns = reference::quantize_columnwise(x, {options, in.type.square}, out.amax_t);
  out.codes_t = std::move(columns.codes);
  out.scales_t = std::move(columns.scales);
  return out;
}

inline MxVectorOutput reference_mx(const MxVectorInput& in) {
  Bytes copy(in.x.begin(), in.x.end());
  const Tensor x = {copy.data(), in.dtype, Shape{in.rows, in.cols}, 0, nullptr};
  const auto mode = static_cast<reference::MxMode>(in.mode);
  auto side = reference::quantize_mx(x, {in.format, mode, true}, false, false).value();
  return {std::move(side.data), std::move(side.scales)};
}

inline std::vector<float> reference_fp4_scales(const std::vector<float>& amax) {
  const float largest = *std::max_element(amax.begin(), amax.end());
  std::vector<float> scales;
  for (const float a : amax) {
    scales.push_back(reference::fp4_scale(a, largest, reference::Fp8Conversion::eager));
  }
  return scales;
}

// The scale of the block of 16 that element i of x is in.
inline float reference_fake_scale(const FakeVectorInput& in, std::int64_t i) {
  if (!in.block_amax.empty()) {
    const auto block = static_cast<std::size_t>(i / 16);
    return in.quantize_block_scales ? reference_fp4_scales(in.block_amax)[block]
                                    : reference::fp4_scale(in.block_amax[block]);
  }
  float amax = 0;
  for (std::int64_t k = i / 16 * 16; k < i / 16 * 16 + 16; ++k) {
    amax = std::fmax(amax, std::fabs(reference::load(in.x.data(), in.dtype, k)));
  }
  return reference::fp4_dynamic_scale(amax, in.global_amax);
}

inline Bytes reference_fake(const FakeVectorInput& in) {
  Bytes out(in.x.size());
  float scale = 0;
  for (std::int64_t i = 0; i < in.rows * in.cols; ++i) {
    if (i % 16 == 0) scale = reference_fake_scale(in, i);
    const float x = reference::load(in.x.data(), in.dtype, i);
    reference::store(out.data(), in.dtype, i, reference::fp4_fake_static(x, scale));
  }
  return out;
}

inline VectorKernels reference_vector_kernels() {
  VectorKernels kernels;
  kernels.quantize_mx = [](const MxVectorInput& in) -> Result<MxVectorOutput> {
    return reference_mx(in);
  };
  kernels.fp4_scales = [](const std::vector<float>& amax) -> Result<std::vector<float>> {
    return reference_fp4_scales(amax);
  };
  kernels.fake_quantize = [](const FakeVectorInput& in) -> Result<Bytes> {
    return reference_fake(in);
  };
  kernels.quantize_nvfp4 = [](const Nvfp4VectorInput& in) -> Result<Nvfp4VectorOutput> {
    Bytes copy(in.x.begin(), in.x.end());
    const Tensor x = {copy.data(), in.dtype, Shape{in.rows, in.cols}, 0, nullptr};
    reference::Nvfp4Options options;
    options.profile = in.type.profile;
    options.global = in.global;
    options.row_scaled = in.type.row_scaled;
    options.four_over_six = in.four_over_six;
    options.bound = in.type.e4m3_bound;
    options.block_amax = in.block_amax;
    if (in.type.square || in.columnwise) return reference_sides(x, in, options);
    std::vector<float> given = in.given;
    if (given.empty() && in.global == GlobalScale::amax) {
      DIECAST_TRY(given, reference::amax(x, options));
    }
    DIECAST_TRY(auto q, reference::quantize_nvfp4(x, options, std::move(given)));
    return Nvfp4VectorOutput{
        std::move(q.codes), std::move(q.scales), std::move(q.amax), {}, {}, {}};
  };
  return kernels;
}

}  // namespace diecast::testing
