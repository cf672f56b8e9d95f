// Runners of finish_product and product_factor: sums and amaxes of every magnitude, NaN and
// infinity among them.
#include <diecast/ops/reference/gemm_nvfp4.h>
#include <diecast/ops/reference/numbers.h>

#include <cmath>
#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {
std::vector<float> any_floats(std::mt19937_64& random, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& one : out) {
    const auto kind = random() % 64;
    one = std::ldexp(static_cast<float>(random() % 4096) - 2048.0f,
                     static_cast<int>(random() % 40) - 20);
    if (kind == 0) one = NAN;
    if (kind == 1) one = -INFINITY;
    if (kind == 2) one = -0.0f;
  }
  return out;
}

DeviceBuffer on_device(Device& device, const std::vector<float>& values) {
  return {device, values.data(), values.size() * sizeof(float)};
}

float unit_of(const reference::GemmNvfp4& gemm) {
  return 1.0f / static_cast<float>(36 * gemm.a.bound * gemm.b.bound);
}

// A product without codes: all that is done with its sums.
reference::GemmNvfp4 finishing(const Specialization& s, const Case& one, std::mt19937_64& random) {
  reference::GemmNvfp4 gemm;
  gemm.a.rows = one.rows, gemm.b.rows = one.cols;
  gemm.a.row_scaled = flag(s, "A_ROW_SCALE"), gemm.b.row_scaled = flag(s, "B_ROW_SCALE");
  gemm.b.bound = random() % 2 == 0 ? 448 : 256;
  gemm.a_amax = any_floats(random, gemm.a.row_scaled ? one.rows : 1);
  gemm.b_amax = any_floats(random, gemm.b.row_scaled ? one.cols : 1);
  gemm.alpha = random() % 2 == 0 ? 1.0f : 0.3f;
  gemm.accumulate = flag(s, "ACCUMULATE");
  return gemm;
}

std::string finish_product_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed * 13 + 5);
  reference::GemmNvfp4 gemm = finishing(s, one, random);
  const DType dtype = dtype_of(s, "OUT"), bias_dtype = dtype_of(s, "BIAS_TYPE");
  const bool in_place = flag(s, "IN_PLACE"), biased = flag(s, "BIAS");
  const std::vector<float> sums = any_floats(random, one.rows * one.cols);
  std::vector<std::uint8_t> want(sums.size() * static_cast<std::size_t>(dtype_bits(dtype) / 8));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float there = in_place ? sums[i] : any_floats(random, 1)[0];
    reference::store(want.data(), dtype, static_cast<std::int64_t>(i), there);
  }
  if (in_place && !sums.empty()) std::memcpy(want.data(), sums.data(), want.size());
  std::vector<std::uint8_t> bias(static_cast<std::size_t>(one.cols * dtype_bits(bias_dtype) / 8));
  for (std::int64_t i = 0; biased && i < one.cols; ++i) {
    reference::store(bias.data(), bias_dtype, i, any_floats(random, 1)[0]);
    gemm.bias.push_back(reference::load(bias.data(), bias_dtype, i));
  }
  const DeviceBuffer out(device, want.data(), want.size());
  const DeviceBuffer from = on_device(device, sums), biases(device, bias.data(), bias.size());
  const DeviceBuffer a_amax = on_device(device, gemm.a_amax),
                     b_amax = on_device(device, gemm.b_amax);
  reference::finish_gemm(gemm, sums, want.data(), dtype);
  const args::FinishProduct arguments{
      .sums = in_place ? nullptr : from.data_pointer(),
      .a_amax = a_amax.data_pointer(),
      .b_amax = b_amax.data_pointer(),
      .bias = {bias_dtype, biased ? biases.data_pointer() : nullptr},
      .out = {dtype, out.data_pointer()},
      .rows = one.rows,
      .cols = one.cols,
      .alpha = gemm.alpha,
      .unit = unit_of(gemm)};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.data(), want.size()) : problem;
}

std::string product_factor_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  Device& device = kernel.device();
  std::mt19937_64 random(one.seed * 17 + 3);
  reference::GemmNvfp4 gemm;
  gemm.alpha = 0.3f, gemm.b.bound = one.seed % 2 == 0 ? 448 : 256;
  const std::vector<float> a = any_floats(random, one.cols), b = any_floats(random, one.cols);
  std::vector<float> want;
  for (std::size_t i = 0; i < a.size(); ++i) {
    want.push_back(0);
    reference::store(want.data(), DType::f32, static_cast<std::int64_t>(2 * i),
                     reference::gemm_factor(gemm, a[i], b[i]));
    want.push_back(0);
  }
  const DeviceBuffer a_amax = on_device(device, a), b_amax = on_device(device, b);
  const DeviceBuffer factors(device, want.size() * sizeof(float));
  const args::ProductFactor arguments{.a_amax = a_amax.data_pointer(),
                                      .b_amax = b_amax.data_pointer(),
                                      .factors = factors.data_pointer(),
                                      .count = one.cols,
                                      .alpha = gemm.alpha,
                                      .unit = unit_of(gemm)};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("factors", factors, want.data(), want.size() * sizeof(float))
                         : problem;
}

const RunnerFor<args::FinishProduct> finish_product_runner{finish_product_difference};
const RunnerFor<args::ProductFactor> product_factor_runner{product_factor_difference};

}  // namespace
}  // namespace diecast::variants
