// What really compiles for the host: the programs that a compiler's driver starts, and the
// libraries that do their work. Each is known by its build id, or by its whole content where it
// has none, so that machines with the same compiler have one identity.
#pragma once

#include <diecast/base/hash.h>

#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// What `compiler -###` writes: the target and the programs it would run.
struct DryRun {
  std::string target;                 // "x86_64-linux-gnu"; empty: it is no dry run
  std::vector<std::string> programs;  // by path or name, in order
  std::vector<std::string> folders;   // where the driver looks for a program before PATH
};
DryRun read_dry_run(std::string_view text);

// "build id" or "content" of a file; of one that cannot be read: so.
std::string mark_of_file(const std::string& path);

// The marks of the driver and everything a dry run names.
Record compiler_parts(const std::string& driver, const DryRun& run);

}  // namespace diecast
