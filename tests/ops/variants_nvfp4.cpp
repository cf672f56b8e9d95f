// Runners of the nvfp4 templates and of amax.
#include <diecast/ops/reference/nvfp4_te.h>

#include <cmath>
#include <random>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

std::string quantize_difference(Kernel& kernel, const Case& one, const Bindings& tunes,
                                bool row_scaled) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  std::vector<float> amax = reference::amax(x.on_host(), row_scaled).value();
  if (!row_scaled && one.seed % 3 == 0) amax[0] *= 0.03f;  // too small: block scales saturate
  const auto want = reference::te_quantize_nvfp4(x.on_host(), amax, row_scaled).value();

  const std::int64_t spare = one.device_rows ? kSpareRows : 0;
  const std::int64_t blocks = (one.cols + 15) / 16;
  DeviceBuffer codes(device, static_cast<std::size_t>((one.rows + spare) * blocks * 8));
  DeviceBuffer scales(device, static_cast<std::size_t>((one.rows + spare) * blocks));
  DeviceBuffer amaxes(device, amax.size() * sizeof(float));
  if (!row_scaled) device.copy_to_device(amaxes.data_pointer(), amax.data(), 4, {}).value();
  const Rows rows = rows_of(device, one);
  const KernelArgument arguments[] = {x.argument(),
                                      KernelArgument::tensor(DType::f32, amaxes.data_pointer()),
                                      KernelArgument::tensor(DType::u8, codes.data_pointer()),
                                      KernelArgument::tensor(DType::e4m3, scales.data_pointer()),
                                      rows.argument,
                                      KernelArgument::size(one.cols)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare("scales", scales, want.scales.data(), want.scales.size());
  if (problem.empty()) problem = compare("codes", codes, want.codes.data(), want.codes.size());
  if (problem.empty()) problem = compare("amax", amaxes, want.amax.data(), want.amax.size() * 4);
  return problem;
}

}  // namespace

std::string quantize_nvfp4_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  return quantize_difference(kernel, one, tunes, false);
}

std::string quantize_nvfp4_row_scaled_difference(Kernel& kernel, const Case& one,
                                                 const Bindings& tunes) {
  return quantize_difference(kernel, one, tunes, true);
}

std::string amax_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  const bool per_row = word_of(s, "PER") == "row";
  const std::vector<float> want = reference::amax(x.on_host(), per_row).value();
  DeviceBuffer amax(device, want.size() * sizeof(float));
  device.fill(amax.data_pointer(), 0, want.size() * sizeof(float), {}).value();
  const Rows rows = rows_of(device, one);
  const KernelArgument arguments[] = {x.argument(),
                                      KernelArgument::tensor(DType::f32, amax.data_pointer()),
                                      rows.argument, KernelArgument::size(one.cols)};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("amax", amax, want.data(), want.size() * 4) : problem;
}

std::string dequantize_nvfp4_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const bool row_scaled = flag(s, "ROW_SCALE");
  const bool decode = word_of(s, "GLOBAL") == "decode";
  std::mt19937_64 random(one.seed);
  reference::Nvfp4 q{one.rows, one.cols, {}, {}, row_scaled, {}};
  const std::int64_t blocks = (one.cols + 15) / 16;
  q.codes.resize(static_cast<std::size_t>(one.rows * blocks * 8));
  q.scales.resize(static_cast<std::size_t>(one.rows * blocks));
  for (auto& byte : q.codes) byte = static_cast<std::uint8_t>(random());
  for (auto& byte : q.scales) byte = static_cast<std::uint8_t>(random() & 0x7F);  // 0x7F: NaN
  q.amax.resize(row_scaled ? static_cast<std::size_t>(one.rows) : 1);
  for (float& a : q.amax)
    a = std::ldexp(1.0f + static_cast<float>(random() % 1024) / 1024.0f,
                   static_cast<int>(random() % 40) - 20);

  const DType dtype = dtype_of(s, "OUT");
  const std::int64_t stride = stride_for(one, dtype, word_of(s, "ROWS"));
  std::vector<std::uint8_t> want(
      static_cast<std::size_t>(one.rows * stride * dtype_bits(dtype) / 8), DeviceBuffer::kPoison);
  const auto form = decode ? reference::Global::decode : reference::Global::amax;
  reference::te_dequantize_nvfp4(q, form, q.amax,
                                 {want.data(), dtype, Shape{one.rows, one.cols}, stride, nullptr})
      .value();

  const std::size_t spare = one.device_rows ? kSpareRows : 0;
  DeviceBuffer codes(device, q.codes.data(), q.codes.size());
  DeviceBuffer scales(device, q.scales.data(), q.scales.size());
  DeviceBuffer factor(device, q.amax.data(), q.amax.size() * sizeof(float));
  DeviceBuffer out(device, want.size() + spare * stride * dtype_bits(dtype) / 8);
  const Rows rows = rows_of(device, one);
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::u8, codes.data_pointer()),
                                      KernelArgument::tensor(DType::e4m3, scales.data_pointer()),
                                      KernelArgument::tensor(DType::f32, factor.data_pointer()),
                                      KernelArgument::tensor(dtype, out.data_pointer(), stride),
                                      rows.argument,
                                      KernelArgument::size(one.cols)};
  const std::string problem = launch_and_wait(kernel, arguments, tunes);
  return problem.empty() ? compare("out", out, want.data(), want.size()) : problem;
}

}  // namespace diecast::variants
