// Child processes: their streams, their ends, their time limits, and that nothing of them remains.
#include <diecast/base/process.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::open_descriptors;
using namespace std::chrono_literals;

ProcessRequest shell(const std::string& script) {
  ProcessRequest request;
  request.arguments = {"/bin/sh", "-c", script};
  request.time_limit = 20s;
  return request;
}

ProcessResult run(const ProcessRequest& request) { return run_process(request).value(); }

std::string temporary(const std::string& name) {
  return ::testing::TempDir() + "diecast_process_test_" + std::to_string(getpid()) + name;
}

bool alive(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string number, name, state;
  return (file >> number >> name >> state) && state != "Z";
}

TEST(Process, GivesItsOutputItsErrorsAndItsExitCode) {
  const ProcessResult result = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(result.exit_code, 3);
}

TEST(Process, EndedBySignalHasThatCodePlus128) {
  EXPECT_EQ(run(shell("kill -TERM $$")).exit_code, 128 + SIGTERM);
}

TEST(Process, TakesItsArgumentsAsTheyAreWithoutAShell) {
  ProcessRequest request;
  request.arguments = {"printf", "%s|", "a b", "$HOME; `id` 'x' \"y\"", "", "*"};
  EXPECT_EQ(run(request).output, "a b|$HOME; `id` 'x' \"y\"||*|");
}

TEST(Process, ReadsItsInputToTheEnd) {
  ProcessRequest request = shell("cat; echo end");
  request.input = "first\nsecond";
  EXPECT_EQ(run(request).output, "first\nsecondend\n");
  EXPECT_EQ(run(shell("cat; echo end")).output, "end\n");
}

TEST(Process, StreamsMuchInAndOutAtOnce) {
  ProcessRequest request = shell("cat");
  for (int i = 0; i < 1000000; ++i) request.input += std::to_string(i);
  EXPECT_EQ(run(request).output, request.input);
}

TEST(Process, ThatNeverReadsItsInputEndsWithoutASignalToUs) {
  ProcessRequest request = shell("exec <&-; echo done");
  request.input.assign(4 << 20, 'x');
  EXPECT_EQ(run(request).output, "done\n");
}

TEST(Process, OutputBeyondTheLimitIsDropped) {
  ProcessRequest request = shell("head -c 3000000 /dev/zero; echo err >&2");
  request.output_limit = 1000;
  const ProcessResult result = run(request);
  EXPECT_EQ(result.output.size(), 1000u);
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(result.exit_code, 0);
}

TEST(Process, HasThisEnvironmentOrTheOneGiven) {
  setenv("DIECAST_PROCESS_TEST", "inherited", 1);
  ProcessRequest request = shell("echo $DIECAST_PROCESS_TEST $OTHER");
  EXPECT_EQ(run(request).output, "inherited\n");
  request.environment = {"OTHER=given"};
  EXPECT_EQ(run(request).output, "given\n");
  request.environment = environment_with({"OTHER=too"});
  EXPECT_EQ(run(request).output, "inherited too\n");
  request.environment = environment_with({"DIECAST_PROCESS_TEST=in place", "OTHER="});
  EXPECT_EQ(run(request).output, "in place\n");
  unsetenv("DIECAST_PROCESS_TEST");
}

TEST(Process, RunsInTheGivenDirectory) {
  ProcessRequest request = shell("pwd");
  request.directory = "/usr";
  EXPECT_EQ(run(request).output, "/usr\n");
  request.directory = "/nowhere";
  EXPECT_EQ(run_process(request).error().what, "cannot run \"/bin/sh\": No such file or directory");
  EXPECT_EQ(run(shell("pwd")).output, std::filesystem::current_path().string() + "\n");
}

TEST(Process, ThatCannotBeFoundIsAnErrorThatNamesIt) {
  ProcessRequest request;
  request.arguments = {"diecast-no-such-program"};
  const auto result = run_process(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(),
            "diecast: process_failed: cannot run \"diecast-no-such-program\": No such file or "
            "directory\n"
            "  fix: give the path of an executable program, or add its folder to PATH");
}

TEST(Process, ThatIsNotExecutableIsAnError) {
  const std::string path = temporary("plain");
  std::ofstream(path) << "text";
  ProcessRequest request;
  request.arguments = {path};
  EXPECT_EQ(run_process(request).error().what, "cannot run \"" + path + "\": Permission denied");
  request.arguments = {};
  EXPECT_EQ(run_process(request).error().code, ErrorCode::invalid_argument);
  std::filesystem::remove(path);
}

TEST(Process, OutOfTimeIsKilledWithItsWholeGroup) {
  const std::string path = temporary("pids");
  ProcessRequest request = shell("sleep 300 & echo $$ $! > " + path + "; wait");
  request.time_limit = 300ms;
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run_process(request);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::timed_out);
  EXPECT_NE(result.error().what.find("did not end within 300 ms and was killed"),
            std::string::npos);
  std::ifstream file(path);
  std::string leader, sleeper;
  ASSERT_TRUE(file >> leader >> sleeper);
  for (int i = 0; i < 100 && alive(sleeper); ++i) std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(alive(sleeper));
  EXPECT_FALSE(std::filesystem::exists("/proc/" + leader)) << "not reaped";
  std::filesystem::remove(path);
}

TEST(Process, WithoutAnyTimeIsKilledAtOnceAndWithEndlessTimeIsNot) {
  ProcessRequest request = shell("sleep 300");
  request.time_limit = 0ms;
  EXPECT_EQ(run_process(request).error().code, ErrorCode::timed_out);
  request = shell("exit 4");
  request.time_limit = std::chrono::milliseconds::max();
  EXPECT_EQ(run(request).exit_code, 4);
}

TEST(Process, ThatWritesForeverIsStoppedInTime) {
  ProcessRequest request = shell("exec cat /dev/zero");
  request.time_limit = 200ms;
  EXPECT_EQ(run_process(request).error().code, ErrorCode::timed_out);
}

TEST(Process, ThatLeavesAChildBehindIsNotWaitedForLonger) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run(shell("sleep 5 & echo done")).output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
}

TEST(Process, KeepsItsExitCodeWhereSigchldIsIgnored) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run(shell("exit 7")).exit_code, 7);
  // The child must not inherit it, or it could not wait for its own children.
  EXPECT_EQ(run(shell("sh -c 'exit 5'; echo $?")).output, "5\n");
  signal(SIGCHLD, before);
}

TEST(Process, IsNotTakenByAnothersWait) {
  std::atomic<bool> stop = false;
  std::thread thief([&] {
    while (!stop) waitpid(-1, nullptr, WNOHANG);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(shell("exit 9")).exit_code, 9);
  stop = true;
  thief.join();
}

TEST(Process, StartsWithNoSignalBlocked) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const ProcessResult result = run(shell("kill -TERM $$"));
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  EXPECT_TRUE(sigismember(&after, SIGTERM)) << "our own mask is as it was";
}

TEST(Process, InheritsItsThreeStreamsAndNoOtherDescriptor) {
  const int inheritable = open("/dev/null", O_RDONLY);
  const ProcessResult result = run(shell("ls /proc/$$/fd"));
  close(inheritable);
  // A shell may hold its script on 10 or 255; what we opened is below.
  EXPECT_EQ(result.output.substr(0, 6), "0\n1\n2\n");
  EXPECT_EQ(result.output.find("\n" + std::to_string(inheritable) + "\n"), std::string::npos)
      << result.output;
}

TEST(Process, LeavesNoDescriptorOpen) {
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) run(shell("true"));
  ProcessRequest request;
  request.arguments = {"diecast-no-such-program"};
  EXPECT_FALSE(run_process(request));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Process, RunsWhereStandardStreamsAreClosed) {
  const int kept[3] = {dup(0), dup(1), dup(2)};
  for (int i = 0; i < 3; ++i) close(i);
  ProcessRequest request = shell("cat; echo err >&2");
  request.input = "in";
  const auto result = run_process(request);
  for (int i = 0; i < 3; ++i) {
    dup2(kept[i], i);
    close(kept[i]);
  }
  EXPECT_EQ(result.value().output, "in");
  EXPECT_EQ(result.value().errors, "err\n");
}

TEST(Process, RunsFromManyThreadsAtOnce) {
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        ProcessRequest request = shell("cat; exit " + std::to_string(t));
        request.input = std::to_string(100 * t + i);
        const ProcessResult result = run(request);
        good += result.exit_code == t && result.output == request.input;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
}

TEST(FindProgram, SearchesPathAndPassesOverRelativeEntries) {
  EXPECT_EQ(find_program("diecast-no-such-program"), "");
  EXPECT_EQ(find_program(""), "");
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("/bin"), "");
  const std::string folder = temporary("path");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/tool") << "#!/bin/sh\n";
  const std::string before = getenv("PATH");
  setenv("PATH", (folder + ":" + before).c_str(), 1);
  EXPECT_EQ(find_program("tool"), "") << "not executable";
  std::filesystem::permissions(folder + "/tool", std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("tool"), folder + "/tool");
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  EXPECT_EQ(find_program("./tool"), folder + "/./tool");
  setenv("PATH", ".::", 1);
  EXPECT_EQ(find_program("tool"), "") << "only the working directory has it";
  setenv("PATH", before.c_str(), 1);
  std::filesystem::current_path(here);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace diecast
