// The bounds of each compile that `warm` and `bundle create` start, in a process of its own.
#pragma once

#include <diecast/runtime/runtime.h>
#include <diecast/tool/command.h>

#include <cstdint>

namespace diecast::tool {

struct CompileLimits {
  double seconds = 0;
  std::uint64_t bytes = 0;  // of address space; 0: no limit
  bool in_process = false;  // in this process, without limits

  // Declares --time-limit, --memory-limit and --in-process. The limits live as long as `command`.
  void add_to(CLI::App& command);
  IsolatedCompiles isolated() const;
};

}  // namespace diecast::tool
