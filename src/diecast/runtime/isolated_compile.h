// A compile in a process of its own, bounded in time and memory: a template can make NVRTC run for
// minutes and take gigabytes before it would answer a request to stop. The diecast command is that
// process; request and answer go through its standard streams, checked like an entry from disk.
#pragma once

#include <diecast/base/error.h>
#include <diecast/runtime/runtime.h>

#include <string>
#include <string_view>

namespace diecast {

inline constexpr std::string_view kIsolatedCommand = "compile-one";

// Runs isolated.program. `compiler`: found here, and named to it, however it was found; another one
// over there is an error. Errors: those of Compiler::compile; timed_out, process_failed (a crash,
// with the signal).
Result<Artifact> compile_isolated(const RuntimeOptions& options, const Source& source,
                                  const Target& target, const Compiler& compiler);

// The other side: the answer to a request, and the exit code. Never fails to answer.
struct IsolatedAnswer {
  std::string bytes;
  int exit_code = 0;
};
// The folder for a request's temporary files, which goes with whoever asked; empty if it has none.
std::string temporary_of(std::string_view request);
IsolatedAnswer answer_isolated(const RuntimeOptions& options, std::string_view request);

}  // namespace diecast
