// A kernel's arguments from a caller's tensors and numbers by name: sizes that are left out follow
// from the tensors' shapes, and every shape is held against the template's.
#pragma once

#include <diecast/base/error.h>
#include <diecast/c/abi.h>
#include <diecast/c/tensors.h>
#include <diecast/launch/kernel.h>
#include <diecast/template/specialization.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace diecast::c {

// In the order of the template's `arg` lines. Errors: invalid_argument (a name that is not there,
// twice or missing; a kind that the argument is not of; a tensor elsewhere), value_missing (a size
// that no tensor tells), shape_mismatch, dtype_mismatch, value_not_allowed (a scalar's range).
Result<std::vector<KernelArgument>> arguments_by_name(const Kernel& kernel,
                                                      std::span<const diecast_argument> given);

// What the template gives a tensor, from the sizes of a call. Errors: those of
// diecast_kernel_output.
Result<diecast_output> output_of(const Specialization& kernel, std::string_view argument,
                                 std::span<const diecast_argument> sizes);

// A number as a scalar of the kernel's type. Errors: dtype_mismatch, value_not_allowed (its range),
// not_supported.
Result<KernelArgument> scalar_of(const TensorName& name, DType type, const diecast_argument& given);

}  // namespace diecast::c
