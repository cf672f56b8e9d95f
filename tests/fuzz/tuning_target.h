// The fuzz target of tuning records; see targets.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

void fuzz_tuning(std::string_view input);
std::vector<std::string> tuning_seeds();

}  // namespace diecast::testing
