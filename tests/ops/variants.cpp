// Running variants against the reference; see variants.h.
#include "ops/variants.h"

#include <diecast/base/text.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_te.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ops/device_buffer.h"

namespace diecast::variants {
namespace {

std::vector<std::int64_t> samples_of(const Template& tmpl, std::string_view name) {
  for (const Samples& samples : tmpl.samples()) {
    if (samples.name == name) return samples.values;
  }
  return {};
}

bool flag(const Specialization& s, std::string_view name) { return s.number(name) != 0; }

std::string rows_of(const Specialization& s) { return s.bindings().find("ROWS")->word; }

DType dtype_of(const Specialization& s, std::string_view parameter) {
  return static_cast<DType>(s.number(parameter));
}

// A matrix in device memory, its rows as far apart as the case and the ROWS class want, and what
// lies between and behind the rows poisoned with NaN.
struct Matrix {
  std::int64_t rows, cols, stride;
  DType dtype;
  std::vector<std::uint8_t> host;
  std::unique_ptr<DeviceBuffer> device;

  Tensor on_host() { return {host.data(), dtype, Shape{rows, cols}, stride, nullptr}; }
  KernelArgument argument() const {
    return KernelArgument::tensor(dtype, device->data_pointer(), stride);
  }
};

std::int64_t stride_for(const Case& one, DType dtype, const std::string& rows) {
  const std::int64_t bytes = dtype_bits(dtype) / 8;
  if (rows == "dense" || !one.strided) return one.cols;
  return one.cols + (rows == "apart" ? 16 / bytes : 3);
}

// With device_rows, `spare` rows that do not count lie behind the others, all NaN.
constexpr std::int64_t kSpareRows = 2;

Matrix input_matrix(Device& device, const Case& one, DType dtype, const std::string& rows) {
  Matrix m{one.rows, one.cols, stride_for(one, dtype, rows), dtype, {}, nullptr};
  const std::int64_t bytes = dtype_bits(dtype) / 8;
  const std::int64_t all_rows = one.rows + (one.device_rows ? kSpareRows : 0);
  m.host.assign(static_cast<std::size_t>(all_rows * m.stride * bytes), 0xFF);  // NaN everywhere
  const auto values = hostile_values(dtype, one.rows * one.cols, one.seed, one.seed % 2 != 0);
  for (std::int64_t r = 0; r < one.rows; ++r) {
    std::memcpy(m.host.data() + r * m.stride * bytes, values.data() + r * one.cols * bytes,
                static_cast<std::size_t>(one.cols * bytes));
  }
  m.device = std::make_unique<DeviceBuffer>(device, m.host.data(), m.host.size());
  return m;
}

struct Rows {
  std::unique_ptr<DeviceBuffer> memory;
  KernelArgument argument;
};

Rows rows_of(Device& device, const Case& one) {
  if (!one.device_rows) return {nullptr, KernelArgument::size(one.rows)};
  auto memory = std::make_unique<DeviceBuffer>(device, &one.rows, sizeof one.rows);
  const auto* pointer = reinterpret_cast<const std::int64_t*>(memory->data_pointer());
  return {std::move(memory), KernelArgument::device_size(pointer, one.rows + kSpareRows)};
}

// Where an output differs from what it must be; bytes behind it must still be poison.
std::string compare(const char* name, const DeviceBuffer& buffer, const void* expected,
                    std::size_t bytes) {
  const auto got = buffer.bytes();
  const auto* want = static_cast<const std::uint8_t*>(expected);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::uint8_t byte = i < bytes ? want[i] : DeviceBuffer::kPoison;
    if (got[i] != byte) {
      return cat(name, " differs at byte ", i, " of ", bytes, ": expected ", int{byte}, ", got ",
                 int{got[i]});
    }
  }
  return buffer.guards_are_whole() ? "" : cat(name, ": a guard byte was overwritten");
}

std::string launch_and_wait(Kernel& kernel, std::span<const KernelArgument> arguments,
                            const Bindings& tunes) {
  auto launched = kernel.launch(arguments, {}, tunes);
  if (!launched) return launched.error().message();
  auto waited = kernel.device().synchronize({});
  return waited ? "" : waited.error().message();
}

std::string quantize_difference(Kernel& kernel, const Case& one, bool row_scaled, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), rows_of(s));
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

std::string amax_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), rows_of(s));
  const bool per_row = s.bindings().find("PER")->word == "row";
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

std::string dequantize_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  const bool row_scaled = flag(s, "ROW_SCALE");
  const bool decode = s.bindings().find("GLOBAL")->word == "decode";
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
  const std::int64_t stride = stride_for(one, dtype, rows_of(s));
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

}  // namespace

std::vector<std::uint8_t> hostile_values(DType dtype, std::int64_t elements, std::uint64_t seed,
                                         bool specials) {
  std::mt19937_64 random(seed * 7919 + static_cast<std::uint64_t>(dtype));
  std::normal_distribution<float> normal;
  static constexpr float kTies[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, 6.0f, 448.0f};
  static constexpr float kSpecials[] = {std::numeric_limits<float>::quiet_NaN(),
                                        std::numeric_limits<float>::infinity(),
                                        -std::numeric_limits<float>::infinity(), -0.0f};
  const float scale = std::ldexp(1.0f, static_cast<int>(random() % 12) - 6);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(elements * dtype_bits(dtype) / 8));
  for (std::int64_t i = 0; i < elements; ++i) {
    float value = normal(random) * scale;
    const auto kind = random() % 64;
    if (kind < 8) value = kTies[random() % 9] * (random() % 2 ? scale : -scale);
    if (kind == 8) value *= 100.0f;
    if (kind == 9) value = random() % 2 ? 0.0f : -0.0f;
    if (kind == 10) value = std::ldexp(value, -130);
    if (kind == 11) value *= 1e-5f;
    if (specials && kind == 12 && random() % 8 == 0) value = kSpecials[random() % 4];
    if (i / 16 % 11 == 3) value = std::copysign(0.0f, value);  // whole blocks of zeros
    reference::store(bytes.data(), dtype, i, value);
  }
  return bytes;
}

std::vector<Case> cases_of(const Specialization& specialization) {
  const Template& tmpl = specialization.tmpl();
  const std::int64_t fixed = specialization.number("COLS");
  std::vector<std::int64_t> all_cols = samples_of(tmpl, "cols");
  if (fixed != 0) all_cols = {fixed};
  const bool whole_blocks = rows_of(specialization) != "any";
  std::vector<Case> cases;
  std::uint64_t seed = 1;
  for (const std::int64_t rows : samples_of(tmpl, "rows")) {
    for (const std::int64_t cols : all_cols) {
      if (whole_blocks && cols % 16 != 0) continue;
      cases.push_back({rows, cols, seed % 2 == 0, seed % 5 == 0, seed});
      if (cols < 100) cases.push_back({rows, cols, true, seed % 5 != 0, seed + 1000});
      ++seed;
    }
  }
  return cases;
}

const std::vector<std::string>& known_templates() {
  static const std::vector<std::string> names = {"amax", "dequantize_nvfp4", "quantize_nvfp4",
                                                 "quantize_nvfp4_row_scaled"};
  return names;
}

namespace {

// The launch's own tunes at their defaults, and now and then each of their other values: they must
// not change a bit either.
std::vector<Bindings> tunes_for(const Template& tmpl, const Case& one) {
  std::vector<Bindings> tunes = {{}};
  for (const Parameter& parameter : tmpl.parameters()) {
    if (parameter.compiled() || one.seed % 3 != 0) continue;
    for (const Value& value : parameter.allowed) tunes.push_back(Bindings{{parameter.name, value}});
  }
  return tunes;
}

std::string difference_with(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const std::string& name = kernel.specialization().tmpl().name();
  if (name == "quantize_nvfp4") return quantize_difference(kernel, one, false, tunes);
  if (name == "quantize_nvfp4_row_scaled") return quantize_difference(kernel, one, true, tunes);
  if (name == "amax") return amax_difference(kernel, one, tunes);
  if (name == "dequantize_nvfp4") return dequantize_difference(kernel, one, tunes);
  return cat("no runner for template ", name);
}

}  // namespace

std::string difference(Kernel& kernel, const Case& one) {
  const Specialization& s = kernel.specialization();
  for (const Bindings& tunes : tunes_for(s.tmpl(), one)) {
    const std::string problem = difference_with(kernel, one, tunes);
    if (problem.empty()) continue;
    std::string tuned;
    for (const auto& [name, value] : tunes.entries()) tuned += cat(" ", name, "=", value.spelling());
    return cat(s.spelling(), tuned, " on [", one.rows, ", ", one.cols, "]",
               one.strided ? " strided" : "", one.device_rows ? " device rows" : "", " seed ",
               one.seed, ": ", problem);
  }
  return "";
}

}  // namespace diecast::variants
