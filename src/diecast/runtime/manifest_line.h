// What a line of a manifest says, whether it names a kernel or an op: values for each name, and
// targets. Not a public header.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/specialization.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {

// Whether a line names an op: `op quantize_nvfp4 in=bf16`.
bool is_op_line(std::string_view line);

// The values that a line gives each name, in its order. Names that it leaves out keep their
// defaults.
using Choices = std::vector<std::pair<std::string, std::vector<Value>>>;
// The parameter of a name, or the error of a name that there is not.
using FindParameter = std::function<Result<const Parameter*>(std::string_view name)>;
// Reads lists and `*` (every value that the parameter allows). Errors: those of `find` and of
// Parameter::read(); value_not_allowed for a `*` of any integer.
Result<Choices> read_choices(const Spelling& line, const FindParameter& find);

// `given`, or where there are none the line's own targets. Errors: value_missing without any.
Result<std::vector<Target>> targets_of(const Spelling& line, std::span<const Target> given);

// Errors: not_supported for more kernels, or combinations, than anybody wants: a slip of the pen
// must not keep a machine busy for a day.
Result<void> check_kernels(std::size_t count);
Result<void> check_count(const Choices& choices, std::size_t targets);

// The next combination in order, the last name's values first; false after the last one.
bool next_combination(const Choices& choices, std::vector<std::size_t>& index);

// `error` with "file:line" before what it says.
Error error_on_line(std::string_view where, Error error);

}  // namespace diecast
