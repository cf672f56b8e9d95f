// Long work on a terminal: a bar redrawn in place, gone before the table is printed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "child_process.h"
#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::ToolRun;

// What the command writes to a terminal that is both its output and its errors.
std::string on_a_terminal(ToolRun& diecast, std::vector<std::string> arguments) {
  const int ours = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (ours < 0 || ::grantpt(ours) != 0 || ::unlockpt(ours) != 0) return "";
  const std::string name = ::ptsname(ours);
  arguments.insert(arguments.begin(), DIECAST_TOOL);
  std::vector<char*> words, variables;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  std::vector<std::string> environment = diecast.environment();
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  const int theirs = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const pid_t child = testing::start_child([&] {
    ::dup2(theirs, STDOUT_FILENO);
    ::dup2(theirs, STDERR_FILENO);
    return ::execve(words[0], words.data(), variables.data());
  });
  std::string written;
  ::close(theirs);
  char buffer[4096];
  for (ssize_t got; (got = ::read(ours, buffer, sizeof buffer)) > 0;)  // EIO: the child has ended
    written.append(buffer, static_cast<std::size_t>(got));
  ::close(ours);
  EXPECT_EQ(testing::wait_for_child(child), 0) << written;
  return written;
}

TEST(Terminal, ShowsABarAndClearsItBeforeTheTable) {
  ToolRun diecast;
  const std::string written =
      on_a_terminal(diecast, {"compile", "amax IN=bf16,f16,f32 COLS=16,32,48 @ sm_90a"});
  const std::size_t bar = written.find("\rcompile [");
  ASSERT_NE(bar, std::string::npos) << written;
  EXPECT_NE(written.find("########################] 100 %", bar), std::string::npos) << written;
  EXPECT_EQ(written.find("compile: 10 %"), std::string::npos) << written;  // not a line each
  const std::size_t cleared = written.find("\r\x1b[K", bar), table = written.find("bytes  ");
  ASSERT_NE(table, std::string::npos) << written;
  EXPECT_LT(cleared, table) << written;
  EXPECT_EQ(written.find("\rcompile [", table), std::string::npos) << written;
}

TEST(Terminal, HasLinesInsteadWhereThereIsNone) {
  ToolRun diecast;
  const auto run = diecast({"compile", "amax IN=bf16,f16,f32 COLS=16,32,48 @ sm_90a"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_NE(run.errors.find("compile: 10 %\n"), std::string::npos) << run.errors;
  EXPECT_EQ(run.errors.find('\r'), std::string::npos) << run.errors;
  EXPECT_EQ(run.errors.find('\x1b'), std::string::npos) << run.errors;
}

}  // namespace
}  // namespace diecast
