// Arguments that a tuner's caller gives itself, in place of what a header alone would make.
#pragma once

#include <diecast/launch/kernel.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

// By name. What they point at is the caller's and outlives the tuning.
using GivenArguments = std::vector<std::pair<std::string, KernelArgument>>;

// Null: not given.
const KernelArgument* find_given(const GivenArguments& given, std::string_view name);

// Errors: unknown_parameter for what is no argument of the kernel; invalid_argument for one given
// twice, for a size (a kernel is measured at it) and for a tensor that is written (the tuner
// compares it).
Result<void> check_given(const Template& tmpl, const GivenArguments& given);

// "1e-5" as a scalar of f32, i32, u32 or i64; none for another type or where it does not fit.
std::optional<KernelArgument> parse_scalar(std::string_view text, DType dtype);
// What parse_scalar() reads back to the bit; none for what it does not read.
std::optional<std::string> scalar_text(const KernelArgument& argument);

}  // namespace diecast
