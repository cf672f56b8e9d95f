// Functions run in forked processes: for tests of what other users, dying processes and many
// processes at once do. A child returns its exit code and must not use the test framework.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace diecast::testing {

inline pid_t start_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

// The exit code, or 128 + the signal that ended it.
inline int wait_for_child(pid_t child) {
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline int in_child(const std::function<int()>& body) { return wait_for_child(start_child(body)); }

// A user that owns nothing; becoming it needs root.
inline constexpr uid_t kNobody = 65534;

inline bool become(uid_t user) {
  return ::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0;
}

}  // namespace diecast::testing
