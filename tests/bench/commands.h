// What diecast-bench can be asked for: parts of the bench, and subcommands.
#pragma once

#include <diecast/tool/command.h>

namespace diecast::tool {

Command add_parts(CLI::App& app);  // declares its options on the program itself
Command add_selftest(CLI::App& app);
Command add_kernels(CLI::App& app);
Command add_start(CLI::App& app);

}  // namespace diecast::tool
