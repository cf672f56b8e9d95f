// How many compiles fit this machine, or the container it is cut down to, at once.
#pragma once

#include <cstddef>
#include <string>

namespace diecast {

// At least 1 and at most `cores`: less where the memory left, or the memory or processor limit of a
// control group (version 2) around this process, is for fewer. `root`: where /proc and /sys stand.
std::size_t compile_jobs(std::size_t cores, const std::string& root = "");

}  // namespace diecast
