// See elements.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/elements.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace diecast {
namespace {

// Bits of a float's exponent and fraction.
struct Layout {
  int exponent, fraction;
};
std::optional<Layout> layout_of(DType type) {
  switch (type) {
    case DType::bf16:
      return Layout{8, 7};
    case DType::f16:
      return Layout{5, 10};
    case DType::f32:
      return Layout{8, 23};
    case DType::f64:
      return Layout{11, 52};
    case DType::e4m3:
      return Layout{4, 3};
    case DType::e5m2:
      return Layout{5, 2};
    default:
      return std::nullopt;
  }
}

bool is_signed(DType type) { return type == DType::i8 || type == DType::i32 || type == DType::i64; }

std::int64_t signed_value(DType type, std::uint64_t bits) {
  const int unused = 64 - dtype_bits(type);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

// The place of a value among all of its type, the smallest first: floats by their magnitude on
// either side of 0, which is one value.
std::int64_t place_of(DType type, std::uint64_t bits) {
  if (is_signed(type)) return signed_value(type, bits);
  if (!layout_of(type)) return static_cast<std::int64_t>(bits ^ std::uint64_t{1} << 63);
  const std::uint64_t sign = std::uint64_t{1} << (dtype_bits(type) - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

}  // namespace

std::uint64_t element_bits(DType type, ByteSpan elements, std::size_t index) {
  const auto width = static_cast<std::size_t>(dtype_bits(type) / 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, elements.data() + index * width, width);
  return bits;
}

std::optional<int> fraction_bits(DType type) {
  const auto layout = layout_of(type);
  return layout ? std::optional(layout->fraction) : std::nullopt;
}

double float_value(DType type, std::uint64_t bits) {
  const auto [exponent, fraction] = *layout_of(type);
  const std::uint64_t all = (std::uint64_t{1} << exponent) - 1;
  const std::uint64_t field = bits >> fraction & all;
  const std::uint64_t part = bits & ((std::uint64_t{1} << fraction) - 1);
  const bool negative = (bits >> (exponent + fraction) & 1) != 0;
  const int bias = (1 << (exponent - 1)) - 1;
  double value = 0;
  if (type == DType::e4m3 ? field == all && part == 7 : field == all && part != 0)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (type != DType::e4m3 && field == all)
    value = std::numeric_limits<double>::infinity();
  else
    value = std::ldexp(static_cast<double>(part) + (field != 0 ? std::ldexp(1, fraction) : 0),
                       static_cast<int>(std::max<std::uint64_t>(field, 1)) - bias - fraction);
  return negative ? -value : value;
}

bool is_nan(DType type, std::uint64_t bits) {
  if (type == DType::e8m0) return bits == 255;
  return layout_of(type) && std::isnan(float_value(type, bits));
}

std::string element_text(DType type, std::uint64_t bits) {
  if (is_nan(type, bits)) return "nan";
  if (type == DType::e8m0) return cat(std::ldexp(1.0, static_cast<int>(bits) - 127));
  if (is_signed(type)) return cat(signed_value(type, bits));
  if (!layout_of(type)) return cat(bits);
  const double value = float_value(type, bits);
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return type == DType::f64 ? cat(value) : cat(static_cast<float>(value));
}

std::uint64_t steps_between(DType type, std::uint64_t a, std::uint64_t b) {
  const std::int64_t from = place_of(type, a), to = place_of(type, b);
  return from < to ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                   : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
}

}  // namespace diecast
