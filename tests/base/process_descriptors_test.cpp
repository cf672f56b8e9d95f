// Descriptors that outlive their use in some other process: nobody waits for the end of a stream
// that a process only happens to hold.
#include <diecast/base/process.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <thread>

#include "child_process.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

ProcessRequest script(const std::string& text) {
  ProcessRequest request;
  request.arguments = {"/bin/sh", "-c", text};
  request.time_limit = std::chrono::seconds(10);
  return request;
}

// What the program's supervisor, its parent, holds: with more, somebody's stream would not end
// before the program does.
constexpr char kDescriptorsOfSupervisor[] = "ls /proc/$PPID/fd";

TEST(ProcessDescriptors, ItsSupervisorHoldsTheThreeStreamsOnly) {
  EXPECT_EQ(run_process(script(kDescriptorsOfSupervisor)).value().output, "0\n1\n2\n");
}

// As on Linux before 5.9.
bool take_away_close_range() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ProcessDescriptors, ItsSupervisorHoldsNoMoreWithoutCloseRange) {
  constexpr int kNoFilter = 2;
  const int ended = testing::in_child([] {
    if (!take_away_close_range()) return kNoFilter;
    return run_process(script(kDescriptorsOfSupervisor)).value().output == "0\n1\n2\n" ? 0 : 1;
  });
  if (ended == kNoFilter) GTEST_SKIP() << "this process may not filter its system calls";
  EXPECT_EQ(ended, 0);
}

TEST(ProcessDescriptors, ReadsTheEndOfItsInputThoughAForkedChildHoldsTheOtherEnd) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "begun";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  pid_t child = -1;
  std::thread other([&] {
    std::string line;
    std::ifstream(path) >> line;  // the program reads nothing until the child is there
    child = testing::start_child([] {
      pause();
      return 0;
    });
    std::ofstream(path) << "go\n";
  });
  ProcessRequest request = script("echo begun > " + path + "; read go < " + path + "; wc -c");
  request.input.assign(4 << 20, 'x');
  const auto result = run_process(request);
  other.join();
  kill(child, SIGKILL);
  testing::wait_for_child(child);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->output, "4194304\n");
}

}  // namespace
}  // namespace diecast
