// The conversions of types.cu on any device against this file's own arithmetic.
#pragma once

#include <array>

#include "launch/words.h"

namespace diecast::testing {

inline constexpr std::size_t kTypeResults = 34;

// A binary format: bits of its exponent and of its fraction.
struct SmallFloat {
  int exponent, fraction;

  // The nearest, even of two, without infinities and NaN of `x`: those are the caller's.
  std::uint64_t encode(double x) const {
    const int bias = (1 << (exponent - 1)) - 1;
    const std::uint64_t sign = std::signbit(x) ? std::uint64_t{1} << (exponent + fraction) : 0;
    if (x == 0) return sign;
    int power = std::max(std::ilogb(x), 1 - bias);
    const double steps = std::nearbyint(std::ldexp(std::fabs(x), fraction - power));
    const auto count = static_cast<std::uint64_t>(steps);
    const std::uint64_t base = static_cast<std::uint64_t>(power + bias - 1) << fraction;
    return sign | (base + count);
  }
  double decode(std::uint64_t code) const {
    const int bias = (1 << (exponent - 1)) - 1;
    const std::uint64_t magnitude = code & ((std::uint64_t{1} << (exponent + fraction)) - 1);
    const int field = static_cast<int>(magnitude >> fraction);
    const std::uint64_t part = magnitude & ((std::uint64_t{1} << fraction) - 1);
    const double steps = static_cast<double>(part + (field > 0 ? std::uint64_t{1} << fraction : 0));
    const double value = std::ldexp(steps, std::max(field, 1) - bias - fraction);
    return code >> (exponent + fraction) & 1 ? -value : value;
  }
};
inline constexpr SmallFloat kBf16{8, 7}, kF16{5, 10}, kE4m3{4, 3}, kE5m2{5, 2};

// With infinities: what is beyond the format is one, a NaN has all bits but the sign.
inline std::uint64_t encode16(const SmallFloat& format, double x) {
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent) - 1) << format.fraction;
  if (std::isnan(x)) return 0x7FFF;
  const std::uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isinf(x)) return sign | infinity;
  return sign | std::min(format.encode(std::fabs(x)), infinity);
}
inline double decode16(const SmallFloat& format, std::uint64_t code) {
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent) - 1) << format.fraction;
  if ((code & 0x7FFF) > infinity) return NAN;
  if ((code & 0x7FFF) == infinity) return code & 0x8000 ? -INFINITY : INFINITY;
  return format.decode(code);
}
inline std::uint64_t encode8(const SmallFloat& format, double most, double x) {
  if (std::isnan(x)) return 0x7F;
  return format.encode(std::clamp(x, -most, most));
}

inline std::uint64_t bits_of(double x) {  // as f32, a NaN as a GPU has it
  return std::isnan(x) ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(static_cast<float>(x));
}
inline std::uint64_t both(std::uint64_t there, double back) { return there << 32 ^ bits_of(back); }

template <class T>
T to_whole(float x) {
  if (std::isnan(x)) return 0;
  const long double whole = std::nearbyint(static_cast<long double>(x));
  constexpr auto kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  if (whole >= static_cast<long double>(kMost)) return kMost;
  return whole <= static_cast<long double>(kLeast) ? kLeast : static_cast<T>(whole);
}
template <class T>
std::uint64_t whole_and_back(float x) {
  const T there = to_whole<T>(x);
  return both(std::make_unsigned_t<T>(there), static_cast<float>(there));
}

// A NaN gives way, and +0 is above -0.
inline float larger(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? b : a;
  return std::max(a, b);
}

inline void add_pairs(const SmallFloat& format, float value, float other,
                      std::vector<std::uint64_t>& row) {
  using Pair = std::array<float, 2>;
  const auto rounded = [&](float x) {
    return static_cast<float>(decode16(format, encode16(format, x)));
  };
  const Pair a = {rounded(value), rounded(other)}, b = {rounded(other), 3.0f};
  const Pair c = {rounded(value), rounded(0.1f)};
  const auto add = [&](const auto& operation) {
    std::uint64_t both = 0;
    for (const std::size_t i : {0u, 1u}) both |= encode16(format, operation(i)) << (16 * i);
    row.push_back(both);
  };
  add([&](std::size_t i) { return a[i]; });
  add([&](std::size_t i) { return a[i] + b[i]; });
  add([&](std::size_t i) { return a[i] - b[i]; });
  add([&](std::size_t i) { return a[i] * b[i]; });
  add([&](std::size_t i) { return a[i] / b[i]; });
  row.push_back(row[row.size() - 5] ^ 0x80008000u);
  add([&](std::size_t i) { return std::fma(a[i], b[i], c[i]); });
  add([&](std::size_t i) { return larger(a[i], b[i]); });
  add([&](std::size_t i) { return -larger(-a[i], -b[i]); });
}

inline std::vector<std::uint64_t> expected_types(const std::vector<float>& x, std::size_t i) {
  const float value = x[i];
  std::vector<std::uint64_t> row;
  for (const SmallFloat& format : {kBf16, kF16}) {
    const std::uint64_t code = encode16(format, value);
    row.push_back(both(code, decode16(format, code)));
  }
  row.push_back(both(bits_of(value), value));
  const std::uint64_t e4m3 = encode8(kE4m3, 448, value), e5m2 = encode8(kE5m2, 57344, value);
  row.push_back(both(e4m3, e4m3 == 0x7F ? NAN : kE4m3.decode(e4m3)));
  row.push_back(both(e5m2, e5m2 == 0x7F ? NAN : kE5m2.decode(e5m2)));
  int power = 0;
  const double part = std::frexp(std::fabs(static_cast<double>(value)), &power);
  const int up = std::clamp((part == 0.5 ? power - 1 : power) + 127, 0, 254);
  const bool zero = value == 0, most = std::isinf(value);
  const std::uint64_t e8m0 = std::isnan(value) ? 255 : zero ? 0 : most ? 254 : std::uint64_t(up);
  row.push_back(both(e8m0, e8m0 == 255 ? NAN : std::ldexp(1.0, static_cast<int>(e8m0) - 127)));
  row.push_back(whole_and_back<std::uint8_t>(value));
  row.push_back(whole_and_back<std::int8_t>(value));
  row.push_back(whole_and_back<std::uint16_t>(value));
  row.push_back(whole_and_back<std::int32_t>(value));
  row.push_back(whole_and_back<std::uint32_t>(value));
  row.push_back(static_cast<std::uint64_t>(to_whole<std::int64_t>(value)));
  row.push_back(to_whole<std::uint64_t>(value));
  row.push_back(bits_of(static_cast<double>(value) / 3.0));
  const auto number = static_cast<std::int64_t>(i);
  row.push_back(
      bits_of(static_cast<float>(std::uint64_t{std::bit_cast<std::uint32_t>(value)} << 29)) |
      bits_of(static_cast<float>(-1 - number)) << 32);
  add_pairs(kBf16, value, x[(i + 1) % x.size()], row);
  add_pairs(kF16, value, x[(i + 1) % x.size()], row);
  row.push_back(64 + 800);
  return row;
}

// Edges of every type and their neighbours, and drawn bits.
inline std::vector<float> type_values() {
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-140f};
  for (const double edge :
       {0.5,          1.5,     2.5,     127.5,   128.5,   255.5,   448.0,     464.0,
        32767.5,      65535.5, 57344.0, 61440.0, 65504.0, 65520.0, 8388607.5, 2147483648.0,
        4294967296.0, 9.2e18,  1.9e19,  3.4e38,  1e-40,   6e-8,    1e-5,      0.1}) {
    const auto near = static_cast<float>(edge);
    for (const float each : {near, std::nextafter(near, 0.0f), std::nextafter(near, INFINITY)})
      values.insert(values.end(), {each, -each});
  }
  std::mt19937 random(5);
  while (values.size() < 4000)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return values;
}

inline void expect_types_equal(const std::shared_ptr<Device>& device, Compiler& compiler,
                               const Target& target) {
  const auto kernel = kernel_of("types", compiler, device, target);
  ASSERT_NE(kernel, nullptr);
  auto x = type_values();
  std::vector<std::uint64_t> out(x.size() * kTypeResults);
  auto* const given = on_device(*device, x);
  auto* const results = on_device(*device, out);
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::f32, given),
                                      KernelArgument::tensor(DType::u64, results),
                                      KernelArgument::size(static_cast<std::int64_t>(x.size()))};
  kernel->launch(arguments, {}).value();
  take_from_device(*device, results, out);
  take_from_device(*device, given, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto expected = expected_types(x, i);
    ASSERT_EQ(expected.size(), kTypeResults);
    for (std::size_t j = 0; j < kTypeResults; ++j)
      ASSERT_EQ(out[i * kTypeResults + j], expected[j]) << x[i] << ", result " << j;
  }
}

}  // namespace diecast::testing
