// Runners of ModelOpt's block scales and fake quantization.
#include <diecast/ops/reference/fp4_fake.h>
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {
using reference::Fp8Conversion;

// Amaxes of blocks: ordinary ones, zeros, subnormals, and now and then infinity or NaN.
std::vector<float> hostile_amaxes(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& a : out) {
    const auto kind = random() % 32;
    a = std::ldexp(1.0f + static_cast<float>(random() % 4096) / 4096.0f,
                   static_cast<int>(random() % 16) - 12);
    if (kind == 0) a = 0.0f;
    if (kind == 1) a = std::ldexp(a, -130);
    if (kind == 2 && seed % 2 == 0) a = std::numeric_limits<float>::infinity();
    if (kind == 3 && seed % 2 == 0) a = std::numeric_limits<float>::quiet_NaN();
  }
  return out;
}

float global_of(std::uint64_t seed) {
  constexpr float kSome[] = {12.5f, 0.0f, 1e-9f, 3e38f, 0.37f};
  return kSome[seed % 5];
}

Fp8Conversion conversion_of(const Specialization& s) {
  return word_of(s, "FP8") == "eager" ? Fp8Conversion::eager : Fp8Conversion::extension;
}

std::string compute_fp4_scales_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const auto amaxes = hostile_amaxes(one.cols, one.seed);
  const float global = global_of(one.seed);
  std::vector<float> want(amaxes.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const float scale = flag(s, "QUANTIZE")
                            ? reference::fp4_scale(amaxes[i], global, conversion_of(s))
                            : reference::fp4_scale(amaxes[i]);
    reference::store(want.data(), DType::f32, static_cast<std::int64_t>(i), scale);
  }
  DeviceBuffer amax(device, amaxes.data(), amaxes.size() * sizeof(float));
  DeviceBuffer global_amax(device, &global, sizeof global);
  DeviceBuffer scales(device, amaxes.size() * sizeof(float));
  const args::ComputeFp4Scales arguments{.amax = amax.data_pointer(),
                                         .global_amax = global_amax.data_pointer(),
                                         .scales = scales.data_pointer(),
                                         .count = one.cols};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("scales", scales, want.data(), want.size() * 4) : problem;
}

std::string static_blockwise_fp4_fake_quant_difference(Kernel& kernel, const Case& one,
                                                       const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const std::int64_t block = s.number("BLOCK");
  const std::string scale = word_of(s, "SCALE");
  const DType in = dtype_of(s, "IN"), out_type = dtype_of(s, "OUT");
  const auto x = values_of(one, in, true);
  const auto amaxes = hostile_amaxes(one.cols / block, one.seed);
  const float global = global_of(one.seed);
  std::vector<std::uint8_t> want(static_cast<std::size_t>(one.cols * dtype_bits(out_type) / 8));
  for (std::int64_t i = 0; i < one.cols; ++i) {
    const float amax = amaxes.empty() ? 0.0f : amaxes[static_cast<std::size_t>(i / block)];
    const float p = scale == "one"         ? 1.0f
                    : scale == "quantized" ? reference::fp4_scale(amax, global, conversion_of(s))
                                           : reference::fp4_scale(amax);
    reference::store(want.data(), out_type, i,
                     reference::fp4_fake_static(reference::load(x.data(), in, i), p));
  }
  // Without ALIGNED, one element past a multiple of 16 bytes.
  const std::size_t shift = flag(s, "ALIGNED") ? 0 : 1;
  const auto in_bytes = static_cast<std::size_t>(dtype_bits(in) / 8);
  const auto out_bytes = static_cast<std::size_t>(dtype_bits(out_type) / 8);
  DeviceBuffer from(device, x.size() + shift * in_bytes);
  device.copy_to_device(from.data_pointer() + shift * in_bytes, x.data(), x.size(), {}).value();
  DeviceBuffer amax(device, amaxes.data(), amaxes.size() * sizeof(float));
  DeviceBuffer global_amax(device, &global, sizeof global);
  DeviceBuffer out(device, want.size() + shift * out_bytes);
  want.insert(want.begin(), shift * out_bytes, DeviceBuffer::kPoison);
  const args::StaticBlockwiseFp4FakeQuant arguments{
      .x = {in, from.data_pointer() + shift * in_bytes},
      .amax = amax.data_pointer(),
      .global_amax = global_amax.data_pointer(),
      .out = {out_type, out.data_pointer() + shift * out_bytes},
      .count = one.cols};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.data(), want.size()) : problem;
}

std::string fp4_fake_quant_block_difference(Kernel& kernel, const Case& one,
                                            const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const DType dtype = dtype_of(s, "IN");
  const std::int64_t block = s.number("BLOCK");
  Matrix x = input_matrix(device, one, dtype, word_of(s, "ROWS"));
  const float global = global_of(one.seed);
  std::vector<std::uint8_t> want(
      static_cast<std::size_t>(one.rows * x.stride * dtype_bits(dtype) / 8), DeviceBuffer::kPoison);
  const auto at = [&](std::int64_t row, std::int64_t col) {
    return reference::load(x.host.data(), dtype, row * x.stride + col);
  };
  for (std::int64_t row = 0; row < one.rows; ++row) {
    for (std::int64_t col = 0; col < one.cols; ++col) {
      float amax = 0.0f;
      const std::int64_t first = col / block * block;
      for (std::int64_t c = first; c < std::min(first + block, one.cols); ++c) {
        amax = std::fmax(amax, std::fabs(at(row, c)));
      }
      const float p = reference::fp4_dynamic_scale(amax, global);
      reference::store(want.data(), dtype, row * x.stride + col,
                       reference::fp4_fake(at(row, col), p));
    }
  }
  DeviceBuffer global_amax(device, &global, sizeof global);
  DeviceBuffer out(device, want.size() + spare_bytes(one, want.size()));
  const Rows rows = rows_of(device, one);
  const args::Fp4FakeQuantBlock arguments{.x = x.argument(),
                                          .global_amax = global_amax.data_pointer(),
                                          .out = {dtype, out.data_pointer(), x.stride},
                                          .rows = rows.argument,
                                          .cols = one.cols};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.data(), want.size()) : problem;
}

const RunnerFor<args::ComputeFp4Scales> compute_fp4_scales_runner{compute_fp4_scales_difference};
const RunnerFor<args::Fp4FakeQuantBlock> fp4_fake_quant_block_runner{
    fp4_fake_quant_block_difference};
const RunnerFor<args::StaticBlockwiseFp4FakeQuant> static_blockwise_fp4_fake_quant_runner{
    static_blockwise_fp4_fake_quant_difference};

}  // namespace
}  // namespace diecast::variants
