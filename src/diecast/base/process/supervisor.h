// The process between ours and a program: in our memory (CLONE_VM, so no page table is copied and
// nothing mapped for a GPU is touched), it starts the program and waits for it. It has its own
// signal actions and no exit signal: SIGCHLD may be ignored here, or another thread may call
// wait(), and the exit code still arrives. A thread of ours stands still meanwhile (CLONE_VFORK)
// and lends it its errno.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace diecast::process {

inline constexpr std::size_t kStack = 32 << 10;

// What supervisor and program need, made before they exist: they share our memory and may allocate
// nothing.
struct Launch {
  const char* path;
  const char* directory;  // null: where this process is
  char** arguments;
  char** environment;
  std::uint64_t memory_limit;
  bool own_group;
  int streams[3];
  char* stacks[2];             // kStack bytes each, for supervisor and program
  std::atomic<pid_t> pid = 0;  // of the program, once it runs
  int failure = 0;             // errno where the program could not be started
  int status = 0;              // as wait gives it
};

// Runs the supervisor to its end, and with it the program.
void supervise(Launch& launch);

}  // namespace diecast::process
