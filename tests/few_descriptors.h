// A process that may have few more files open than it has. Its child is told apart by what it
// returns; see child_process.h.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace diecast::testing {

// From here on this process opens `left` descriptors more. False where it may not be told so.
inline bool leave_descriptors(int left) {
  rlimit limit{};
  const int next = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
  if (next < 0 || ::close(next) != 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = static_cast<rlim_t>(next + left);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace diecast::testing
