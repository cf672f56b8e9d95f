// The fuzz target of texts that are to be compiled; see targets.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

void fuzz_complete(std::string_view input);
std::vector<std::string> complete_seeds();

}  // namespace diecast::testing
