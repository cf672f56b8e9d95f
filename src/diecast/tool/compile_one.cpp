// diecast compile-one: one compile for a parent that bounds it in time and memory. Not for people:
// it reads a request from standard input and writes an answer to standard output.
#include <diecast/base/process.h>
#include <diecast/runtime/isolated_compile.h>
#include <diecast/tool/command.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

namespace diecast::tool {
namespace {

// Held by the thread that ends this process, and never let go.
std::mutex& the_end() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

// Ends what runs here: the programs of this process group, the request's temporary files, this
// process. A program that is dying may still make a file: it is gone after some tries.
[[noreturn]] void end_all(const std::string& temporary) {
  the_end().lock();
  std::signal(SIGTERM, SIG_IGN);
  ::kill(0, SIGTERM);
  std::error_code ignored;
  for (int tries = 0; tries < 500 && std::filesystem::exists(temporary, ignored); ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::filesystem::remove_all(temporary, ignored);
  }
  ::_exit(1);
}

// The parent reads our standard output. When nobody does any more it has ended, and with it goes
// what runs here. The kernel would end this process alone, and at once; so would SIGPIPE.
void end_with_the_reader(const std::string& temporary) {
  ::prctl(PR_SET_PDEATHSIG, 0);
  std::signal(SIGPIPE, SIG_IGN);
  std::thread([temporary] {
    struct pollfd reader = {1, 0, 0};
    while (::poll(&reader, 1, -1) <= 0 || (reader.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0) {
    }
    end_all(temporary);
  }).detach();
}

Result<int> answer() {
  std::string request;
  char buffer[65536];
  for (ssize_t count = 1; count != 0;) {
    count = ::read(0, buffer, sizeof buffer);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) request.append(buffer, static_cast<std::size_t>(count));
  }
  const std::string temporary = temporary_of(request);
  keep_programs_in_own_group();
  end_with_the_reader(temporary);
  const IsolatedAnswer out = answer_isolated(RuntimeOptions::from_environment(), request);
  const bool written =
      std::fwrite(out.bytes.data(), 1, out.bytes.size(), stdout) == out.bytes.size() &&
      std::fflush(stdout) == 0;
  if (!written) end_all(temporary);
  the_end().lock();
  return out.exit_code;
}

}  // namespace

Command add_compile_one(CLI::App& app) {
  auto* command = app.add_subcommand(std::string(kIsolatedCommand), "");
  command->group("");  // not in the help
  return {command, answer};
}

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size > 0) return {path, static_cast<std::size_t>(size)};
  // Without /proc: as it was started, where the working directory is still that one.
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started != nullptr && ::realpath(started, path) != nullptr ? path : "";
}

}  // namespace diecast::tool
