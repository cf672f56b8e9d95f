// The values of scalars that `diecast run` and `diecast tune` launch with.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/tuning/given.h>

#include <span>
#include <string>
#include <vector>

namespace diecast::tool {

// Of "eps=1e-5" and so on those that the kernel has. Errors: invalid_argument for a value that is
// none of its type, or for a type that is not written so.
Result<GivenArguments> scalars_of(const Specialization& kernel,
                                  const std::vector<std::string>& given);

// Errors: invalid_argument for a word without a name; unknown_parameter for a scalar that no kernel
// has; those of scalars_of().
Result<void> check_scalars_of(std::span<const Specialization> kernels,
                              const std::vector<std::string>& given);

}  // namespace diecast::tool
