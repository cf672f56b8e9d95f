// Reading elements of every type as numbers, and comparing them; see approx.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/approx.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace diecast {
namespace {

// Bits of a float's exponent and fraction; none of what is an integer or a scale.
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

std::uint64_t bits_at(ByteSpan data, std::size_t index, std::size_t width) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data.data() + index * width, width);
  return bits;
}

double number_of(DType type, const Layout& layout, std::uint64_t bits) {
  const std::uint64_t all = (std::uint64_t{1} << layout.exponent) - 1;
  const std::uint64_t field = bits >> layout.fraction & all;
  const std::uint64_t part = bits & ((std::uint64_t{1} << layout.fraction) - 1);
  const bool negative = (bits >> (layout.exponent + layout.fraction) & 1) != 0;
  const int bias = (1 << (layout.exponent - 1)) - 1;
  double value = 0;
  if (type == DType::e4m3 ? field == all && part == 7 : field == all && part != 0)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (type != DType::e4m3 && field == all)
    value = std::numeric_limits<double>::infinity();
  else
    value =
        std::ldexp(static_cast<double>(part) + (field != 0 ? std::ldexp(1, layout.fraction) : 0),
                   static_cast<int>(std::max<std::uint64_t>(field, 1)) - bias - layout.fraction);
  return negative ? -value : value;
}

}  // namespace

Bindings approx_tunes(const Template& tmpl, const Bindings& bindings) {
  Bindings out;
  for (const Parameter& parameter : tmpl.parameters())
    if (parameter.sums != Parameter::Sums::same)
      out.set(parameter.name, *bindings.find(parameter.name));
  return out;
}

std::optional<std::string> beyond_approx(const BoundArgument& tensor, ByteSpan got,
                                         ByteSpan standard) {
  const auto width = static_cast<std::size_t>(dtype_bits(tensor.dtype) / 8);
  const auto layout = layout_of(tensor.dtype);
  const std::size_t count = standard.size() / width;
  const auto number = [&](ByteSpan data, std::size_t i) {
    return number_of(tensor.dtype, *layout, bits_at(data, i, width));
  };
  double largest = 0;
  for (std::size_t i = 0; layout && i < count; ++i)
    if (const double x = std::fabs(number(standard, i)); std::isfinite(x))
      largest = std::max(largest, x);
  for (std::size_t i = 0; i < count; ++i) {
    if (bits_at(got, i, width) == bits_at(standard, i, width)) continue;
    if (!layout) return cat(tensor.name, "[", i, "] is another integer or scale");
    const double mine = number(got, i), its = number(standard, i);
    if (std::isnan(mine) && std::isnan(its)) continue;
    const double step = std::ldexp(std::fabs(its), -layout->fraction);
    if (std::fabs(mine - its) <= 2 * step + kApproxShare * largest) continue;
    return cat(tensor.name, "[", i, "] is ", mine, ", and ", its, " by default");
  }
  return std::nullopt;
}

}  // namespace diecast
