// Matrices on the command line: "16384x7168".
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "bench/bench.h"

namespace diecast::tool {

// None for what is not ROWSxCOLS, with columns in whole blocks of 32 and at most 2^20 of each.
std::optional<BenchShape> parse_shape(std::string_view text);
CLI::Validator is_shape();

}  // namespace diecast::tool
