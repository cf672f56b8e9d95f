// Supervisor and program up to its exec: they share our memory and make system calls alone.
#include <diecast/base/process/supervisor.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

// glibc's clone() by its second name: the first belongs to ThreadSanitizer in its builds, which
// then takes the child for a fork and ends it.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace diecast::process {
namespace {

void* top_of(char* stack) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(stack + kStack) & ~15ul);
}

// The program's process up to its exec. Only system calls; those that a sanitizer keeps books of
// are made directly.
__attribute__((no_sanitize("address", "thread", "undefined"))) int program(void* data) {
  auto& launch = *static_cast<Launch*>(data);
  constexpr std::size_t kKernelSignalSet = 8;
  const std::uint64_t zeros[8] = {};  // to the kernel: the default action, or no signal blocked
  for (int number = 1; number < NSIG; ++number)
    syscall(SYS_rt_sigaction, number, zeros, nullptr, kKernelSignalSet);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (launch.own_group) setpgid(0, 0);
  if (launch.memory_limit != 0) {  // and no core file of that size
    const std::uint64_t limits[2] = {launch.memory_limit, launch.memory_limit};
    syscall(SYS_prlimit64, 0, RLIMIT_AS, limits, nullptr);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, zeros, nullptr);
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, zeros, nullptr, kKernelSignalSet);
  if (launch.directory == nullptr || syscall(SYS_chdir, launch.directory) == 0)
    execve(launch.path, launch.arguments, launch.environment);
  launch.failure = errno;
  syscall(SYS_exit_group, 127);
  return 0;
}

// Closes all but the streams. Before Linux 5.9, and where a filter of system calls does not know
// it, there is no close_range: then one by one, as far as descriptors usually go.
__attribute__((no_sanitize("address", "thread", "undefined"))) void close_others() {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
#endif
  constexpr std::uint64_t kMost = 1 << 16;
  std::uint64_t limits[2] = {kMost, kMost};
  syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, limits);
  const std::uint64_t end = limits[0] < kMost ? limits[0] : kMost;
  for (std::uint64_t file = 3; file < end; ++file) syscall(SYS_close, file);
}

// The supervisor's whole life. It puts the streams in place and drops every other descriptor first,
// so that nobody waits for the end of a stream that it only happens to hold.
__attribute__((no_sanitize("address", "thread", "undefined"))) int supervisor(void* data) {
  auto& launch = *static_cast<Launch*>(data);
  const std::uint64_t zeros[8] = {};
  syscall(SYS_rt_sigaction, SIGCHLD, zeros, nullptr, 8);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 0; i < 3; ++i)
    if (syscall(SYS_dup3, launch.streams[i], i, 0) < 0) launch.failure = errno;
  close_others();
  if (launch.failure == 0) {
    const pid_t pid =
        __clone(program, top_of(launch.stacks[1]), CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
    if (pid < 0) launch.failure = errno;
    launch.pid = pid;
    if (pid > 0) syscall(SYS_wait4, pid, &launch.status, 0, nullptr);
  }
  syscall(SYS_exit_group, 0);
  return 0;
}

}  // namespace

// Our signal handlers must not run in the supervisor, which would run them in our memory, nor in
// this thread, of which the process knows nothing.
void supervise(Launch& launch) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  const pid_t pid = __clone(supervisor, top_of(launch.stacks[0]), CLONE_VM | CLONE_VFORK, &launch);
  if (pid < 0) launch.failure = errno;
  if (pid > 0) waitpid(pid, nullptr, __WALL);
}

}  // namespace diecast::process
