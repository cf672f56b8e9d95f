// The run-time sizes that `diecast run` launches with and `diecast tune` measures at.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/tuning/record.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace diecast::tool {

using SizeLists = std::map<std::string, std::vector<std::int64_t>>;

// Of "rows=1,512" and so on. Errors: invalid_argument for a word that is no size.
Result<SizeLists> read_sizes(const std::vector<std::string>& given);

// Adds the sizes that the arrays of "x=x.npy" and so on tell, by the shapes of the header, to those
// that are given. Errors: those of array_shape().
Result<void> add_sizes_of(const Specialization& one, const std::vector<std::string>& arrays,
                          SizeLists& to);

// Errors: unknown_parameter for a size that no kernel has: the usual ones would be measured in its
// place; invalid_argument for one that a kernel has been given another value of.
Result<void> check_sizes_of(std::span<const Specialization> kernels, const SizeLists& given);

// The one value of each size that a launch of it brings; 0 of what a plain launch does not have.
// Errors: value_missing; invalid_argument for several values; those of check_sizes_of().
Result<RunSizes> one_point_of(const Specialization& one, const SizeLists& given);

// Every combination of the sizes that a launch of it brings. Where nothing is given: a decode's, a
// prefill's and a long prefill's rows on a GPU; on the host what takes a moment; 0 of what a plain
// launch does not have.
std::vector<RunSizes> points_of(const Specialization& one, const SizeLists& given, bool host);

}  // namespace diecast::tool
