// The command where /proc is not mounted, in a mount namespace of the test's own.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "child_process.h"
#include "tool/run_tool.h"

namespace diecast {
namespace {

constexpr int kEnded = 0, kWentOn = 1, kCannotHide = 2;

bool hide_proc() {
  return ::unshare(CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
}

TEST(WithoutProc, ACompileThatTakesTooLongIsEndedAllTheSame) {
  testing::ToolRun diecast;
  diecast.set("DIECAST_FAKE_NVRTC_SLEEP_MS", "3000");
  const std::string manifest = diecast.folder / "manifest.txt";
  testing::write_text(manifest, "amax IN=bf16 @ sm_90a\n");
  const int outcome = testing::in_child([&] {
    if (!hide_proc()) return kCannotHide;
    const auto run = diecast({"warm", manifest, "--time-limit", "0.5"});
    EXPECT_NE(run.errors.find("diecast: timed_out: "), std::string::npos) << run.errors;
    return run.exit_code == 1 ? kEnded : kWentOn;
  });
  if (outcome == kCannotHide) GTEST_SKIP() << "nothing may be mounted here";
  EXPECT_EQ(outcome, kEnded);
}

}  // namespace
}  // namespace diecast
