// The example kernels in Triton, timed by tests/bench/triton/beside.py where there is a GPU and a
// Python with torch, triton and the Python package.
#pragma once

#include <diecast/base/error.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.h"

namespace diecast::tool {

struct TritonTime {
  std::string kernel;
  BenchShape shape;
  double us = 0;
  bool agrees = false;  // what it makes is what diecast's makes
};

// What the script prints: a line of JSON for each time. Errors: malformed_file.
Result<std::vector<TritonTime>> parse_triton_times(std::string_view printed);

// Errors: not_supported where that Python cannot measure; those of parse_triton_times().
Result<std::vector<TritonTime>> triton_times(const std::string& python,
                                             const std::vector<std::string>& kernels,
                                             const std::vector<std::string>& shapes);

}  // namespace diecast::tool
