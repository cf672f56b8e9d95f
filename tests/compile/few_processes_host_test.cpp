// The host's C++ compiler where there may be few processes: as users of the test's own, of whom
// there are no others. Root alone may become one.
#include <diecast/compile/host_cxx.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "child_process.h"

namespace diecast {
namespace {

constexpr int kToldSo = 0, kCompiled = 1, kToldOtherwise = 2, kNotBecome = 3;
constexpr rlim_t kMost = 20;    // as many processes as compiling may take
constexpr uid_t kUser = 64173;  // and those that follow, one for each number of processes

Result<Artifact> compiled() {
  const Source source{"kernel.cu", "kernel", "extern \"C\" void kernel(void*, void**) {}\n"};
  DIECAST_TRY(const auto compiler, open_host_cxx({"", ""}));
  return compiler->compile(source, Target{Target::Kind::host, 0, 0, 1});
}

int compile_with(rlim_t processes, uid_t user = kUser) {
  const rlimit limit = {processes, processes};
  if (!testing::become(user)) return kNotBecome;
  if (processes != RLIM_INFINITY && ::setrlimit(RLIMIT_NPROC, &limit) != 0) return kNotBecome;
  ::setenv("TMPDIR", "/tmp", 1);  // root's own may be closed to this user
  const auto made = compiled();
  if (made) return kCompiled;
  const bool said =
      made.error().code == ErrorCode::io_error &&
      made.error().what.find("Resource temporarily unavailable") != std::string::npos &&
      made.error().fix.find("ulimit -u") != std::string::npos;
  return said ? kToldSo : kToldOtherwise;
}

// Whichever is the first that cannot be started: ours, or one of the compiler's own parts.
TEST(HostCompiler, WithFewProcessesBlamesNeitherItselfNorTheSource) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer ends where there are no threads";
#endif
  if (::geteuid() != 0) GTEST_SKIP() << "root alone becomes a user without processes";
  if (testing::in_child([] { return compile_with(RLIM_INFINITY); }) != kCompiled)
    GTEST_SKIP() << "another user cannot be become, or cannot compile here";
  if (testing::in_child([] { return compile_with(0); }) == kCompiled)
    GTEST_SKIP() << "processes are not limited here";
  // Side by side: g++ asks for a process for 15 seconds before it gives up.
  std::vector<pid_t> children;
  for (rlim_t processes = 0; processes <= kMost; ++processes) {
    children.push_back(testing::start_child(
        [processes] { return compile_with(processes, kUser + static_cast<uid_t>(processes)); }));
  }
  int told = 0, outcome = kToldSo;
  for (std::size_t processes = 0; processes < children.size(); ++processes) {
    outcome = testing::wait_for_child(children[processes]);
    const bool enough = outcome == kCompiled;
    EXPECT_TRUE(enough || outcome == kToldSo) << processes << ": " << outcome;
    told += !enough;
  }
  EXPECT_EQ(outcome, kCompiled);
  EXPECT_GT(told, 3);
}

}  // namespace
}  // namespace diecast
