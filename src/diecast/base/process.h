// Runs another program: an argument list, never a shell; bounded in time and output. It works in
// any process: threads running, SIGCHLD ignored, standard streams closed, gigabytes mapped.
#pragma once

#include <diecast/base/error.h>

#include <chrono>
#include <string>
#include <vector>

namespace diecast {

struct ProcessRequest {
  std::vector<std::string> arguments;    // arguments[0] is a path, or a name searched in PATH
  std::string input;                     // written to its standard input, which is then closed
  std::vector<std::string> environment;  // "NAME=value"; empty = this process's own
  std::string directory;                 // where it runs; empty = where this process is
  std::chrono::milliseconds time_limit{120000};
  std::uint64_t memory_limit = 0;        // bytes of address space; 0 = this process's own limit
  std::size_t output_limit = 16u << 20;  // of either stream; more is dropped
};

struct ProcessResult {
  int exit_code = 0;  // 128 + signal if a signal ended it
  std::string output, errors;
};

// This process's environment for another, which `own` ("NAME=value") has in place of what is there
// under these names.
std::vector<std::string> environment_with(std::vector<std::string> own);

// The fix where no process can be started (EAGAIN, ENOMEM).
inline constexpr char kMoreProcesses[] = "let there be more memory or processes (ulimit -u)";

// The program gets its three streams and no other descriptor, default signals, and a process group
// of its own, which is killed whole when the time is up. Once the program itself has ended, what
// some child of its own still writes is not waited for.
// Errors: process_failed (cannot be started), io_error (no descriptor, process or memory is left to
// start any with), timed_out (killed and reaped).
Result<ProcessResult> run_process(const ProcessRequest& request);

// For a process that run_process started: what it runs from here on stays in its own group, so that
// its end at the time limit is also that of everything below it.
void keep_programs_in_own_group();

// The absolute path of a program found through PATH, whose relative entries are passed over; a name
// with a slash is taken as a path. Empty if there is none.
std::string find_program(const std::string& name);

}  // namespace diecast
