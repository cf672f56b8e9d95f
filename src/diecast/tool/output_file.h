// Where a command writes: never over what it was given to read.
#pragma once

#include <diecast/base/error.h>

#include <span>
#include <string>

namespace diecast::tool {

// Asked before any work. Errors: file_exists.
Result<void> check_no_input(const std::string& output, std::span<const std::string> inputs);

}  // namespace diecast::tool
