// Tunes that say `approx`: what their values may change of a result, and what not.
#pragma once

#include <diecast/base/file.h>
#include <diecast/template/specialization.h>

#include <optional>
#include <string>

namespace diecast {

// The approx tunes of a template at the values that the bindings have.
Bindings approx_tunes(const Template& tmpl, const Bindings& bindings);

// How far an element may be from the standard's: two steps of its type there, and this share of the
// largest magnitude that the standard has in the tensor. Integers and scales are equal; NaN is
// where NaN is, and infinity where infinity is.
inline constexpr double kApproxShare = 0x1p-14;

// What is wrong with the first element that is further, or nothing. Both have the same size.
std::optional<std::string> beyond_approx(const BoundArgument& tensor, ByteSpan got,
                                         ByteSpan standard);

}  // namespace diecast
