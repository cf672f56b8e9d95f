// Child processes with a supervisor between: a process in our memory (CLONE_VM, so no page table is
// copied and nothing mapped for a GPU is touched) that starts the program and waits for it. It has
// its own signal actions and no exit signal: SIGCHLD may be ignored here, or another thread may
// call wait(), and the exit code still arrives. A thread of ours stands still meanwhile
// (CLONE_VFORK) and lends it its errno.
#include <diecast/base/file.h>
#include <diecast/base/process.h>
#include <diecast/base/text.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>

// glibc's clone() by its second name: the first belongs to ThreadSanitizer in its builds, which
// then takes the child for a fork and ends it.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace diecast {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);  // fits a time point

Error start_error(const std::string& program, int failure) {
  return {ErrorCode::process_failed, cat("cannot run ", quote(program), ": ", errno_text(failure)),
          "give the path of an executable program, or add its folder to PATH"};
}

// Two connected descriptors, close-on-exec and above 2, so that putting them in place in the child
// never overwrites one that is still needed. Input goes through a socket, because writing to one
// whose reader is gone can be an error instead of a signal.
struct Channel {
  Descriptor ours, theirs;

  int open(bool input) {
    int ends[2];
    const int made =
        input ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC);
    if (made != 0) return -errno;
    for (int& end : ends) {
      if (end > 2) continue;
      const int low = end;
      end = fcntl(low, F_DUPFD_CLOEXEC, 3);
      close(low);
    }
    ours = Descriptor(system_files(), ends[0]);
    theirs = Descriptor(system_files(), ends[1]);
    if (!ours || !theirs) return -EMFILE;
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
  }
};

constexpr std::size_t kStack = 32 << 10;
std::atomic<bool> keeps_group = false;

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

// Runs the supervisor to its end. Our signal handlers must not run in it, which would run them in
// our memory, nor in this thread, of which the process knows nothing.
void supervise(Launch& launch) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  const pid_t pid = __clone(supervisor, top_of(launch.stacks[0]), CLONE_VM | CLONE_VFORK, &launch);
  if (pid < 0) launch.failure = errno;
  if (pid > 0) waitpid(pid, nullptr, __WALL);
}

// Reads what is there, at least all that a pipe holds; false at the end of the stream. Bounded,
// because a program may write faster than we read.
bool drain(int file, std::string& out, std::size_t limit) {
  char buffer[16384];
  for (int round = 0; round < 64; ++round) {
    const ssize_t count = read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 && errno == EAGAIN;
    out.append(buffer, std::min(static_cast<std::size_t>(count), limit - out.size()));
  }
  return true;
}

// Writes what fits; false when all is written or nobody reads.
bool feed(int file, std::string_view& rest) {
  while (!rest.empty()) {
    const ssize_t count = send(file, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return false;
}

// Serves the streams until the program has ended, which the last channel tells; false if the time
// is up before.
bool serve(const ProcessRequest& request, std::array<Channel, 4>& channels, ProcessResult& result) {
  const auto end = Clock::now() + std::min(request.time_limit, kLongest);
  std::string_view rest = request.input;
  std::array<pollfd, 4> polls{};
  for (std::size_t i = 0; i < polls.size(); ++i)
    polls[i] = {channels[i].ours.number(), static_cast<short>(i == 0 ? POLLOUT : POLLIN), 0};
  for (;;) {
    const bool ended = polls[3].revents != 0;  // all that it wrote is there by now
    if (polls[0].fd >= 0 && !feed(polls[0].fd, rest)) {
      shutdown(polls[0].fd, SHUT_WR);  // a process forked by another thread may hold it open
      channels[0].ours.close();
      polls[0].fd = -1;
    }
    for (const std::size_t i : {1u, 2u}) {
      std::string& out = i == 1 ? result.output : result.errors;
      if (polls[i].fd >= 0 && !drain(polls[i].fd, out, request.output_limit)) polls[i].fd = -1;
    }
    if (ended) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    poll(polls.data(), polls.size(), static_cast<int>(std::min<std::int64_t>(left, 1 << 20)));
  }
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Starts the program, serves it and ends it; false if the time was up.
bool run(const ProcessRequest& request, std::array<Channel, 4>& channels, Launch& launch,
         ProcessResult& result) {
  const auto stacks = std::make_unique<char[]>(2 * kStack);
  for (std::size_t i = 0; i < 2; ++i) launch.stacks[i] = stacks.get() + i * kStack;
  for (std::size_t i = 0; i < 3; ++i) launch.streams[i] = channels[i].theirs.number();
  std::thread thread([&] {
    supervise(launch);
    while (write(channels[3].theirs.number(), "", 1) < 0 && errno == EINTR) {
    }
  });
  const bool in_time = serve(request, channels, result);
  pollfd over{channels[3].ours.number(), POLLIN, 0};
  while (!in_time && launch.pid == 0 && poll(&over, 1, 1) == 0) {  // not even started yet
  }
  // Until it is waited for, the group's number is the program's own; 0 would be our own group.
  if (const pid_t pid = launch.pid; !in_time && pid > 0)
    kill(launch.own_group ? -pid : pid, SIGKILL);
  thread.join();
  return in_time;
}

}  // namespace

void keep_programs_in_own_group() { keeps_group = true; }

Result<ProcessResult> run_process(const ProcessRequest& request) {
  if (request.arguments.empty() || request.arguments[0].empty())
    return Error{ErrorCode::invalid_argument, "no program to run", "name one in arguments[0]"};
  const std::string& name = request.arguments[0];
  const std::string path = name.find('/') == std::string::npos ? find_program(name) : name;
  if (path.empty()) return start_error(name, ENOENT);
  std::array<Channel, 4> channels;
  for (std::size_t i = 0; i < channels.size(); ++i)
    if (const int failed = channels[i].open(i == 0); failed < 0) return start_error(path, -failed);
  std::vector<char*> arguments = pointers(request.arguments);
  std::vector<char*> environment = pointers(request.environment);
  Launch launch{path.c_str(),
                request.directory.empty() ? nullptr : request.directory.c_str(),
                arguments.data(),
                request.environment.empty() ? environ : environment.data(),
                request.memory_limit,
                !keeps_group,
                {},
                {}};
  ProcessResult result;
  bool in_time = false;
  try {
    in_time = run(request, channels, launch, result);
  } catch (const std::system_error& error) {  // no thread to be had
    return start_error(path, error.code().value());
  }
  if (launch.failure != 0) return start_error(path, launch.failure);
  if (!in_time)
    return Error{ErrorCode::timed_out,
                 cat(quote(join(request.arguments, " ")), " did not end within ",
                     request.time_limit.count(), " ms and was killed"),
                 "run it by hand to see what it waits for, or allow it more time"};
  const int status = launch.status;
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::string find_program(const std::string& name) {
  const auto absolute = [](const std::string& path) -> std::string {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    if (access(path.c_str(), X_OK) != 0) return {};
    if (path[0] == '/') return path;
    const std::unique_ptr<char, void (*)(void*)> here(getcwd(nullptr, 0), std::free);
    return here ? cat(here.get(), '/', path) : std::string();
  };
  if (name.empty() || name.find('/') != std::string::npos)
    return name.empty() ? "" : absolute(name);
  std::string path = environment_variable("PATH");
  if (path.empty()) path = "/usr/bin:/bin";
  for (const std::string_view folder : split(path, ':')) {
    if (folder.empty() || folder[0] != '/') continue;  // a program of the working directory's owner
    if (std::string found = absolute(cat(folder, '/', name)); !found.empty()) return found;
  }
  return {};
}

}  // namespace diecast
