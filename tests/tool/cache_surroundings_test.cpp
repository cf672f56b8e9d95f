// The subcommands where others are at work: collectors, owners of a root, signals; and where the
// system has no more to give.
#include <diecast/base/file.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "child_process.h"
#include "tool/run_tool.h"

namespace diecast {
namespace {

using testing::ToolRun;

class CacheSurroundings : public ::testing::Test {
 protected:
  std::string manifest() {
    testing::write_text(diecast_.folder / "manifest.txt", "amax IN=bf16 @ sm_90a\n");
    return diecast_.folder / "manifest.txt";
  }
  // Others may read everything in the root but what stands at this depth: 0 is the root.
  void share(std::ptrdiff_t but) const {
    const std::string& root = diecast_.cache_path();
    ::chmod(root.c_str(), 0755);
    for (const std::string& name : testing::tree(root)) {
      const std::string path = root + "/" + name;
      const std::ptrdiff_t depth = 1 + std::ranges::count(name, '/');
      const bool folder = S_ISDIR(testing::mode_of(path));
      ::chmod(path.c_str(), depth == but ? (folder ? 0700 : 0600) : (folder ? 0755 : 0644));
    }
  }
  ToolRun diecast_;
};

// what a collection does goes by limits of its own, and is not what was asked for.
TEST_F(CacheSurroundings, ClearAndPruneWaitForACollector) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"cache", "clear"}, {"cache", "prune", "--unused-days", "0"}}) {
    ASSERT_EQ(diecast_({"warm", manifest()}).exit_code, 0);
    const std::string gc = diecast_.cache_path() + "/v1/gc";
    const int file = ::open(gc.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(system_files().try_lock(file, 0, 1), 0);
    std::thread ending([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      ::close(file);
    });
    const auto run = diecast_(command);
    ending.join();
    EXPECT_EQ(run.exit_code, 0) << run.errors;
    EXPECT_NE(run.output.find(" 1 entries, "), std::string::npos) << run.output;
  }
}

// Whatever of the path to an entry another user keeps to himself, it is said.
TEST_F(CacheSurroundings, ExplainSaysWhatMayNotBeRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(diecast_({"warm", manifest()}).exit_code, 0);
  diecast_.set("DIECAST_CACHE", "ro:" + diecast_.cache_path());
  const std::string line = "amax IN=bf16 @ sm_90a";
  for (std::ptrdiff_t but = 1; but <= 4; ++but) {  // v1, the compiler, two digits, the entry
    share(but);
    EXPECT_EQ(testing::in_child([&] {
                if (!testing::become(testing::kNobody)) return 2;
                if (::access(DIECAST_TOOL, X_OK) != 0) return 0;  // nor the command
                const auto run = diecast_({"cache", "explain", line});
                const std::string all = run.output + run.errors;
                const bool said = all.find("Permission denied") != std::string::npos ||
                                  all.find("its own entry is no good: unreadable") != all.npos;
                if (!said) (void)::write(2, all.data(), all.size());
                return run.exit_code == 1 && said && all.find("a+rX") != all.npos ? 0 : 1;
              }),
              0)
        << but;
  }
  share(0);
  EXPECT_EQ(diecast_({"cache", "explain", line}).exit_code, 0);
}

// E-14
TEST_F(CacheSurroundings, WantOfMemoryIsAnErrorLikeOthers) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer takes terabytes of address space, so that it cannot be limited";
#endif
  std::string line = "amax IN=* COLS=";
  for (int i = 1; i < 1200; ++i) line += std::to_string(16 * i) + (i < 1199 ? "," : "");
  testing::write_text(diecast_.folder / "many.txt", line + " @ sm_90a\n");
  ProcessRequest request;
  request.arguments = {"/bin/bash",      "-c",   "ulimit -c 0 -v 30000; exec \"$0\" \"$@\"",
                       DIECAST_TOOL,     "warm", diecast_.folder / "many.txt",
                       "--expect-no-new"};
  diecast_.set("DIECAST_NVRTC", "/nonexistent/libnvrtc.so.13");
  request.environment = diecast_.environment();
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(run.errors.starts_with("diecast: out_of_memory: ")) << run.errors;
}

// In a working directory that is no longer there, say.
TEST_F(CacheSurroundings, WhatALibraryThrowsIsAnErrorLikeOthers) {
  ProcessRequest request;
  request.arguments = {"/bin/bash", "-c",
                       "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" bundle verify k.dcb",
                       DIECAST_TOOL};
  request.directory = diecast_.folder.path();
  request.environment = diecast_.environment();
  const auto run = run_process(request).value();
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(run.errors.starts_with("diecast: io_error: ")) << run.errors;
  EXPECT_NE(run.errors.find("\n  fix: "), std::string::npos) << run.errors;
}

TEST_F(CacheSurroundings, InterruptedCallsAreRepeated) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer is to be loaded first";
#endif
  diecast_.set("LD_PRELOAD", DIECAST_FAKE_DIR "/libfake_interrupted.so");
  for (int i = 0; i < 2; ++i) {
    const auto warmed = diecast_({"warm", manifest()});
    EXPECT_EQ(warmed.exit_code, 0);
    EXPECT_EQ(warmed.errors, "warm: 100 %\n");
    const auto bundled = diecast_({"bundle", "export", "-o", diecast_.folder / "k.dcb"});
    EXPECT_EQ(bundled.exit_code, 0);
    EXPECT_EQ(bundled.errors, "");
  }
  const auto cleared = diecast_({"cache", "clear"});
  EXPECT_NE(cleared.output.find(": 1 entries, "), std::string::npos) << cleared.output;
  EXPECT_EQ(cleared.exit_code, 0);
  EXPECT_EQ(cleared.errors, "");
}

}  // namespace
}  // namespace diecast
