// diecast compile-one: one compile for a parent that bounds it in time and memory. Not for people:
// it reads a request from standard input and writes an answer to standard output.
#include <diecast/base/process.h>
#include <diecast/runtime/isolated_compile.h>
#include <diecast/tool/command.h>
#include <diecast/tool/console.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace diecast::tool {
namespace {

Result<int> answer() {
  std::string request;
  char buffer[65536];
  for (ssize_t count = 1; count != 0;) {
    count = ::read(0, buffer, sizeof buffer);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) request.append(buffer, static_cast<std::size_t>(count));
  }
  keep_programs_in_own_group();
  const IsolatedAnswer out = answer_isolated(RuntimeOptions::from_environment(), request);
  const bool written =
      std::fwrite(out.bytes.data(), 1, out.bytes.size(), stdout) == out.bytes.size();
  return written ? out.exit_code : 1;
}

}  // namespace

Command add_compile_one(CLI::App& app) {
  auto* command = app.add_subcommand(std::string(kIsolatedCommand), "");
  command->group("");  // not in the help
  return {command, answer};
}

std::string own_program() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace diecast::tool
