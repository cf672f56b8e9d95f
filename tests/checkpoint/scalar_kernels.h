// The arithmetic of profile te for tests of this floor: one element at a time, by search and by
// ldexp where the library works on bits, so that the two cannot share a mistake. MX is the scalar
// reference's, which the tests of the floor below hold against that of other tools.
#pragma once

#include <diecast/checkpoint/convert.h>
#include <diecast/ops/reference/mx.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace diecast::testing {

inline double float_of(std::uint32_t exponent_bits, std::uint32_t mantissa_bits,
                       std::uint32_t bits) {
  const std::uint32_t fraction = bits & ((1u << mantissa_bits) - 1);
  const std::uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const bool negative = (bits >> (mantissa_bits + exponent_bits)) & 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1u << exponent_bits) - 1) {
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - static_cast<int>(mantissa_bits));
  } else {
    value = std::ldexp(fraction + (1u << mantissa_bits),
                       static_cast<int>(exponent) - bias - static_cast<int>(mantissa_bits));
  }
  return negative ? -value : value;
}

inline float element(ByteSpan bytes, DType type, std::size_t index) {
  if (type == DType::f32) {
    float value;
    std::memcpy(&value, bytes.data() + index * 4, 4);
    return value;
  }
  std::uint16_t half;
  std::memcpy(&half, bytes.data() + index * 2, 2);
  return static_cast<float>(type == DType::f16 ? float_of(5, 10, half) : float_of(8, 7, half));
}

// Nearest value of a 16-bit format, ties to the even one, by walking down from the top.
inline std::uint16_t half_of(double value, DType type) {
  const std::uint32_t exponent = type == DType::f16 ? 5 : 8, mantissa = 15 - exponent;
  const std::uint32_t infinity = ((1u << exponent) - 1) << mantissa;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  value = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | 1u << (mantissa - 1));
  std::uint32_t low = 0, high = infinity;  // value of low <= value < value of high, halved
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (float_of(exponent, mantissa, middle) <= value ? low : high) = middle;
  }
  const double below = float_of(exponent, mantissa, low);
  const double above = high == infinity ? 2 * below - float_of(exponent, mantissa, low - 1)
                                        : float_of(exponent, mantissa, high);
  const double to_below = value - below, to_above = above - value;
  const bool up = to_above < to_below || (to_above == to_below && (low & 1));
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

inline float e4m3_value(int byte) {
  return static_cast<float>((byte & 0x7F) == 0x7F ? std::numeric_limits<double>::quiet_NaN()
                            : (byte >> 3) == 15   ? (8 + (byte & 7)) * 32.0
                                                : float_of(4, 3, static_cast<std::uint32_t>(byte)));
}

// The nearest of the 127 values, ties to the even byte; beyond 448 is 448.
inline int e4m3_byte(float value) {
  int best = 0;
  for (int byte = 1; byte < 0x7F; ++byte) {
    const double now = std::fabs(static_cast<double>(e4m3_value(byte)) - value);
    const double then = std::fabs(static_cast<double>(e4m3_value(best)) - value);
    if (now < then || (now == then && byte % 2 == 0)) best = byte;
  }
  return best;
}

inline int e2m1_code(float x) {
  if (std::isnan(x)) return 7;
  const float a = std::fabs(x);
  const int magnitude = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) +
                        (a >= 3.5f) + (a > 5.0f);
  return magnitude + (std::signbit(x) ? 8 : 0);
}

inline float e2m1_value(int code) {
  static constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code & 8 ? -kValues[code & 7] : kValues[code & 7];
}

inline float amax_of(ByteSpan x, DType type, std::size_t first, std::size_t count) {
  float amax = 0;
  for (std::size_t i = first; i < first + count; ++i)
    amax = std::fmax(amax, std::fabs(element(x, type, i)));
  return amax;
}

inline void quantize_row(ByteSpan x, DType type, std::size_t first, std::size_t cols, float amax,
                         std::span<std::byte> codes, std::span<std::byte> scales) {
  float global = std::fmin(2688.0f / amax, FLT_MAX);
  if (amax == 0 || global == 0) global = 1;
  const float decode = 1.0f / global;
  const float sixth = 1.0f / 6.0f;
  for (std::size_t block = first; block < first + cols; block += 16) {
    const float scaled = amax_of(x, type, block, 16) * (global * sixth);
    const int byte = e4m3_byte(std::fmin(scaled, FLT_MAX));
    const float encode = std::fmin(1.0f / (e4m3_value(byte) * decode), FLT_MAX);
    scales[block / 16] = static_cast<std::byte>(byte);
    for (std::size_t i = block; i < block + 16; i += 2) {
      const int low = e2m1_code(element(x, type, i) * encode),
                high = e2m1_code(element(x, type, i + 1) * encode);
      codes[i / 2] = static_cast<std::byte>(low | high << 4);
    }
  }
}

inline ConvertKernels scalar_kernels() {
  ConvertKernels kernels;
  kernels.quantize = [](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols, float amax,
                        std::span<std::byte> codes, std::span<std::byte> scales) -> Result<void> {
    quantize_row(x, type, 0, static_cast<std::size_t>(rows * cols), amax, codes, scales);
    return {};
  };
  kernels.quantize_row_scaled = [](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                                   std::span<std::byte> codes, std::span<std::byte> scales,
                                   std::span<float> amax) -> Result<void> {
    const auto width = static_cast<std::size_t>(cols);
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      amax[row] = amax_of(x, type, row * width, width);
      quantize_row(x, type, row * width, width, amax[row], codes, scales);
    }
    return {};
  };
  kernels.quantize_mx = [](ByteSpan x, DType type, std::int64_t rows, std::int64_t cols,
                           WeightFormat format, std::span<std::byte> codes,
                           std::span<std::byte> scales) -> Result<void> {
    const bool bytes = format == WeightFormat::mxfp8;
    const reference::MxFormula formula{.format = bytes ? Format::mxfp8_e4m3 : Format::mxfp4,
                                       .nan_scale = true};
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows * cols); ++i) {
      if (i % 32 == 0)
        scales[i / 32] = std::byte{reference::mx_scale(formula, amax_of(x, type, i, 32))};
      const auto code = std::byte{reference::mx_code(
          formula, element(x, type, i), std::to_integer<std::uint8_t>(scales[i / 32]))};
      if (bytes)
        codes[i] = code;
      else
        codes[i / 2] = i % 2 == 0 ? code : codes[i / 2] | code << 4;
    }
    return {};
  };
  kernels.dequantize = [](ByteSpan codes, ByteSpan scales, std::span<const float> scale_2,
                          std::int64_t rows, std::int64_t cols, DType type,
                          std::span<std::byte> x) -> Result<void> {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows * cols); ++i) {
      const int code = std::to_integer<int>(codes[i / 2]) >> (i % 2 * 4) & 15;
      const float scale = e4m3_value(std::to_integer<int>(scales[i / 16]));
      const float global = scale_2[scale_2.size() == 1 ? 0 : i / static_cast<std::size_t>(cols)];
      const float value = (e2m1_value(code) * scale) * global;
      const std::uint16_t half = type == DType::f32 ? std::uint16_t{0} : half_of(value, type);
      if (type == DType::f32) std::memcpy(x.data() + i * 4, &value, 4);
      if (type != DType::f32) std::memcpy(x.data() + i * 2, &half, 2);
    }
    return {};
  };
  return kernels;
}

}  // namespace diecast::testing
