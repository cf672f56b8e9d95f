// Comparing elements of every type; see approx.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/approx.h>
#include <diecast/runtime/tuning/elements.h>

#include <algorithm>
#include <cmath>

namespace diecast {

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
  const auto fraction = fraction_bits(tensor.dtype);
  const std::size_t count = standard.size() / width;
  const auto number = [&](ByteSpan data, std::size_t i) {
    return float_value(tensor.dtype, element_bits(tensor.dtype, data, i));
  };
  double largest = 0;
  for (std::size_t i = 0; fraction && i < count; ++i)
    if (const double x = std::fabs(number(standard, i)); std::isfinite(x))
      largest = std::max(largest, x);
  for (std::size_t i = 0; i < count; ++i) {
    if (element_bits(tensor.dtype, got, i) == element_bits(tensor.dtype, standard, i)) continue;
    if (!fraction) return cat(tensor.name, "[", i, "] is another integer or scale");
    const double mine = number(got, i), its = number(standard, i);
    if (std::isnan(mine) && std::isnan(its)) continue;
    const double step = std::ldexp(std::fabs(its), -*fraction);
    const bool near = std::fabs(mine - its) <= 2 * step + kApproxShare * largest;
    if (near && std::isfinite(its)) continue;  // a step of infinity has no end
    return cat(tensor.name, "[", i, "] is ", mine, ", and ", its, " by default");
  }
  return std::nullopt;
}

}  // namespace diecast
