// How large a kernel's tensors are when it runs at some sizes.
#pragma once

#include <diecast/runtime/tuning/record.h>

#include <cstdint>
#include <span>
#include <vector>

namespace diecast {

// The extents of a tensor, outermost first. Errors: invalid_argument for a negative one and for
// more than 2^48 elements; those of the shape's expressions.
Result<std::vector<std::int64_t>> extents_at(const Specialization& kernel,
                                             const BoundArgument& tensor, const RunSizes& sizes);

// Their product.
std::int64_t elements_of(std::span<const std::int64_t> extents);

}  // namespace diecast
