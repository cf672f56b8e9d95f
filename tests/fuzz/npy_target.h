// The fuzz target of NumPy's files; see targets.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

void fuzz_npy(std::string_view input);
std::vector<std::string> npy_seeds();

}  // namespace diecast::testing
