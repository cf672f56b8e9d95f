// A program of subcommands from its words to its exit code: the diecast command, and diecast-bench.
// Exit codes: 0 done; 1 an error, or a check that failed; 2 wrong usage; 128 + n ended by signal n.
#pragma once

#include <diecast/tool/command.h>

#include <vector>

namespace diecast::tool {

// Parses the words, prints what is wrong with them, and runs the first of these commands that was
// chosen. `app` has the program's name and may itself be the last of them.
int run_program(CLI::App& app, const std::vector<Command>& commands, int argc, char** argv);

}  // namespace diecast::tool
