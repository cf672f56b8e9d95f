// Values in a table and nearest values by comparison with exact midpoints. Everything is computed
// in double, where every value, every midpoint and every float is exact, so nothing here rounds.
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace diecast::reference {
namespace {

// A binary format: sign, exponent field, mantissa field.
struct Fields {
  int exponent_bits;
  int mantissa_bits;
  int bias;
};
constexpr Fields kE2m1{2, 1, 1}, kE4m3{4, 3, 7}, kE5m2{5, 2, 15}, kF16{5, 10, 15}, kBf16{8, 7, 127};

// The value of a code without its sign, as if every exponent field were an ordinary one.
double magnitude_of(const Fields& format, unsigned code) {
  const unsigned ones = 1u << format.mantissa_bits;
  const unsigned exponent = code / ones, mantissa = code % ones;
  if (exponent == 0) {
    return std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits);
  }
  return std::ldexp(ones + mantissa,
                    static_cast<int>(exponent) - format.bias - format.mantissa_bits);
}

// The values of codes 0 to `last`, ascending: a code's place is the code.
std::vector<double> values_up_to(const Fields& format, unsigned last) {
  std::vector<double> values;
  for (unsigned code = 0; code <= last; ++code) values.push_back(magnitude_of(format, code));
  return values;
}

// The place of the value nearest to `magnitude`, of two equally near ones the even place; the last
// place for everything beyond.
unsigned nearest_even(const std::vector<double>& values, double magnitude) {
  const auto above = std::upper_bound(values.begin(), values.end(), magnitude);
  const auto upper = static_cast<unsigned>(above - values.begin());
  if (above == values.end()) return upper - 1;
  const unsigned lower = upper - 1;  // values[0] is 0: there is one at or below
  const double midpoint = (values[lower] + values[upper]) / 2;
  if (magnitude < midpoint) return lower;
  if (magnitude > midpoint) return upper;
  return lower % 2 == 0 ? lower : upper;
}

float with_sign(double magnitude, bool negative) {
  return static_cast<float>(negative ? -magnitude : magnitude);
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// IEEE formats: the exponent field of all ones is infinity or NaN.
float decode_ieee(const Fields& format, unsigned bits) {
  const unsigned sign = 1u << (format.exponent_bits + format.mantissa_bits);
  const unsigned infinity = sign - (1u << format.mantissa_bits);
  const unsigned magnitude = bits % sign;
  if (magnitude > infinity) return kNaN;
  const double value = magnitude == infinity ? std::numeric_limits<double>::infinity()
                                             : magnitude_of(format, magnitude);
  return with_sign(value, bits >= sign);
}

// The code of the nearest value, beyond the last one its; `sign`: the bit of a negative one.
unsigned encode(const std::vector<double>& values, float x, unsigned sign, unsigned nan) {
  if (std::isnan(x)) return nan;
  const unsigned magnitude = nearest_even(values, std::fabs(static_cast<double>(x)));
  return (std::signbit(x) ? sign : 0u) + magnitude;
}

// Overflow as IEEE has it: the code of infinity stands in the table with the value that would come
// next, so all from half way to it goes there.
std::uint16_t encode_ieee(const std::vector<double>& values, float x) {
  return static_cast<std::uint16_t>(encode(values, x, 0x8000, 0x7FFF));
}

}  // namespace

float decode_e2m1(std::uint8_t code) {
  return with_sign(magnitude_of(kE2m1, code % 8u), code / 8u % 2u == 1u);
}

std::uint8_t encode_e2m1(float x) {
  static const auto& values = *new std::vector(values_up_to(kE2m1, 7));
  return static_cast<std::uint8_t>(encode(values, x, 8, 7));
}

float decode_e4m3(std::uint8_t byte) {
  if (byte % 128u == 0x7F) return kNaN;
  return with_sign(magnitude_of(kE4m3, byte % 128u), byte >= 128u);
}

std::uint8_t encode_e4m3(float x) {
  static const auto& values = *new std::vector(values_up_to(kE4m3, 0x7E));
  return static_cast<std::uint8_t>(encode(values, x, 0x80, 0x7F));
}

float decode_e5m2(std::uint8_t byte) { return decode_ieee(kE5m2, byte); }

std::uint8_t encode_e5m2(float x) {
  static const auto& values = *new std::vector(values_up_to(kE5m2, 0x7B));
  return static_cast<std::uint8_t>(encode(values, x, 0x80, 0x7F));
}

float decode_e8m0(std::uint8_t byte) {
  return byte == 255 ? kNaN : static_cast<float>(std::ldexp(1.0, byte - 127));
}

std::uint8_t encode_e8m0(float x) {
  static const auto& powers = *new std::vector<double>([] {
    std::vector<double> values;
    for (int byte = 0; byte < 255; ++byte) values.push_back(std::ldexp(1.0, byte - 127));
    return values;
  }());
  if (std::isnan(x)) return 255;
  const double magnitude = std::fabs(static_cast<double>(x));
  const auto at_least = std::lower_bound(powers.begin(), powers.end(), magnitude);
  const auto byte = at_least == powers.end() ? 254 : at_least - powers.begin();
  return static_cast<std::uint8_t>(byte);
}

float decode_bf16(std::uint16_t bits) { return decode_ieee(kBf16, bits); }

std::uint16_t encode_bf16(float x) {
  static const auto& values = *new std::vector(values_up_to(kBf16, 0x7F80));
  return encode_ieee(values, x);
}

float decode_f16(std::uint16_t bits) { return decode_ieee(kF16, bits); }

std::uint16_t encode_f16(float x) {
  static const auto& values = *new std::vector(values_up_to(kF16, 0x7C00));
  return encode_ieee(values, x);
}

float load(const void* array, DType type, std::int64_t index) {
  if (type == DType::f32) return static_cast<const float*>(array)[index];
  if (type == DType::bf16) return decode_bf16(static_cast<const std::uint16_t*>(array)[index]);
  if (type == DType::f16) return decode_f16(static_cast<const std::uint16_t*>(array)[index]);
  if (type == DType::e4m3) return decode_e4m3(static_cast<const std::uint8_t*>(array)[index]);
  return kNaN;
}

void store(void* array, DType type, std::int64_t index, float value) {
  if (type == DType::f32 && std::isnan(value)) {
    constexpr std::uint32_t computed_nan = 0x7FFFFFFF;
    std::memcpy(static_cast<float*>(array) + index, &computed_nan, sizeof computed_nan);
  } else if (type == DType::f32) {
    static_cast<float*>(array)[index] = value;
  } else if (type == DType::bf16) {
    static_cast<std::uint16_t*>(array)[index] = encode_bf16(value);
  } else if (type == DType::f16) {
    static_cast<std::uint16_t*>(array)[index] = encode_f16(value);
  } else if (type == DType::e4m3) {
    static_cast<std::uint8_t*>(array)[index] = encode_e4m3(value);
  }
}

}  // namespace diecast::reference
