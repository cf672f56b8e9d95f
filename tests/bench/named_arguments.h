// A kernel's arguments by the names of its header's `arg` lines.
#pragma once

#include <diecast/launch/kernel.h>
#include <diecast/template/specialization.h>

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace diecast::tool {

using NamedData = std::map<std::string_view, const void*>;
using NamedSizes = std::map<std::string_view, std::int64_t>;

// In the header's order; a tensor that is not named is absent. Every size must be named.
std::vector<KernelArgument> arguments_by_name(const Specialization& one, const NamedData& data,
                                              const NamedSizes& sizes);

}  // namespace diecast::tool
