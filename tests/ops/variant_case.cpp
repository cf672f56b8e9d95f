// The matrices of a case and hostile values; see variant_case.h.
#include "ops/variant_case.h"

#include <diecast/ops/reference/numbers.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace diecast::variants {

bool flag(const Specialization& s, std::string_view name) { return s.number(name) != 0; }

std::string word_of(const Specialization& s, std::string_view name) {
  return s.bindings().find(name)->word;
}

std::optional<reference::RandomState> random_of(const Specialization& s) {
  if (!flag(s, "STOCHASTIC")) return std::nullopt;
  return reference::RandomState{0x123456789ABCDEF0ull, 0x500000007ull};
}

DType dtype_of(const Specialization& s, std::string_view parameter) {
  return static_cast<DType>(s.number(parameter));
}

std::int64_t stride_for(const Case& one, DType dtype, const std::string& rows) {
  const std::int64_t bytes = dtype_bits(dtype) / 8;
  if (rows == "dense" || !one.strided) return one.cols;
  return one.cols + (rows == "apart" ? 16 / bytes : 3);
}

std::vector<std::uint8_t> values_of(const Case& one, DType dtype, bool specials) {
  if (!one.patterns) return hostile_values(dtype, one.rows * one.cols, one.seed, specials);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(one.rows * one.cols * 2));
  const std::uint32_t step = one.seed % 2 != 0 ? 1 : 40503;  // odd: each value comes once
  for (std::uint32_t i = 0; i < bytes.size() / 2; ++i) {
    const auto pattern = static_cast<std::uint16_t>(i * step);
    std::memcpy(bytes.data() + 2 * i, &pattern, 2);
  }
  return bytes;
}

float usable_amax(const Case& one, float amax) {
  if (!one.patterns || std::isfinite(amax)) return amax;
  return one.seed % 2 != 0 ? 60000.0f : 2.5f;
}

std::vector<float> block_amaxes(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> amaxes(static_cast<std::size_t>(count));
  for (float& amax : amaxes) {
    const auto fraction = static_cast<float>(random() % 64) / 32.0f;
    amax = std::ldexp(fraction, static_cast<int>(random() % 8) - 4);
    const auto kind = random() % 97;
    if (kind == 0) amax = INFINITY;
    if (kind == 1) amax = NAN;
    if (kind == 2) amax = std::ldexp(fraction, -130);
  }
  return amaxes;
}

Matrix input_matrix(Device& device, const Case& one, DType dtype, const std::string& rows) {
  Matrix m{one.rows, one.cols, stride_for(one, dtype, rows), dtype, {}, nullptr};
  const std::int64_t bytes = dtype_bits(dtype) / 8;
  const std::int64_t all_rows = one.rows + (one.device_rows ? kSpareRows : 0);
  m.host.assign(static_cast<std::size_t>(all_rows * m.stride * bytes), 0xFF);  // NaN everywhere
  const auto values = values_of(one, dtype, one.seed % 2 != 0);
  for (std::int64_t r = 0; r < one.rows; ++r) {
    std::memcpy(m.host.data() + r * m.stride * bytes, values.data() + r * one.cols * bytes,
                static_cast<std::size_t>(one.cols * bytes));
  }
  m.device = std::make_unique<DeviceBuffer>(device, m.host.data(), m.host.size());
  return m;
}

std::vector<std::int64_t> offsets_for(const Case& one) {
  const std::int64_t a = one.rows / 3, b = a + (one.rows - a) / 2;
  return {0, 0, a, b, b, one.rows};
}

Rows rows_of(Device& device, const Case& one) {
  if (!one.device_rows) return {nullptr, KernelArgument::size(one.rows)};
  auto memory = std::make_unique<DeviceBuffer>(device, &one.rows, sizeof one.rows);
  const auto* pointer = reinterpret_cast<const std::int64_t*>(memory->data_pointer());
  return {std::move(memory), KernelArgument::device_size(pointer, one.rows + kSpareRows)};
}

std::size_t spare_bytes(const Case& one, std::size_t bytes) {
  if (!one.device_rows || one.rows == 0) return 0;
  return bytes / static_cast<std::size_t>(one.rows) * kSpareRows;
}

bool scales_apart(const Specialization& s, const Case& one) {
  if (s.bindings().find("SCALES_APART") != nullptr) return flag(s, "SCALES_APART");
  return word_of(s, "LAYOUT") == "linear" && one.rows % 2 != 0;
}

std::int64_t scale_stride(std::int64_t blocks, bool apart) { return apart ? blocks + 3 : 0; }

std::vector<std::uint8_t> laid_out(const Specialization& s, const std::vector<std::uint8_t>& scales,
                                   std::int64_t rows, std::int64_t blocks, bool apart) {
  const std::string word = word_of(s, "LAYOUT");
  const ScaleLayout layout = word == "s128x4" ? ScaleLayout::s128x4
                             : word == "s8x4" ? ScaleLayout::s8x4
                                              : ScaleLayout::linear;
  const bool linear = layout == ScaleLayout::linear;
  const std::int64_t stride = apart ? scale_stride(blocks, apart) : blocks;
  const std::int64_t bytes = linear ? rows == 0 ? 0 : (rows - 1) * stride + blocks
                                    : quantized_scale_bytes(layout, rows, blocks * 16, 16).value();
  std::vector<std::uint8_t> out(static_cast<std::size_t>(bytes),
                                linear ? DeviceBuffer::kPoison : std::uint8_t{0});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t place =
          linear ? row * stride + block : scale_offset(layout, row, block, blocks);
      out[static_cast<std::size_t>(place)] = scales[static_cast<std::size_t>(row * blocks + block)];
    }
  }
  return out;
}

ColumnScales column_scales(const Specialization& s, const std::vector<std::uint8_t>& scales,
                           std::int64_t cols, std::int64_t blocks, bool apart) {
  if (word_of(s, "LAYOUT") != "linear" || word_of(s, "FORMAT") == "mxfp4") {
    return {laid_out(s, scales, cols, blocks, apart), blocks};
  }
  std::vector<std::uint8_t> in_order(scales.size());
  for (std::int64_t col = 0; col < cols; ++col) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      in_order[static_cast<std::size_t>(block * cols + col)] =
          scales[static_cast<std::size_t>(col * blocks + block)];
    }
  }
  return {laid_out(s, in_order, blocks, cols, apart), cols};
}

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
    // Whole blocks of zeros, and now and then nothing else.
    if (i / 16 % 11 == 3 || seed % 13 == 0) value = std::copysign(0.0f, value);
    reference::store(bytes.data(), dtype, i, value);
  }
  return bytes;
}

}  // namespace diecast::variants
