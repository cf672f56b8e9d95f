// The command catches no signal: whatever ends it leaves whole entries and no part of a checkpoint,
// and the next run goes on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "child_process.h"
#include "tool/run_tool.h"
#include "tool/small_checkpoint.h"

namespace diecast {
namespace {

using testing::ToolRun;

// Starts the command, silent.
pid_t start(const ToolRun& diecast, const std::vector<std::string>& arguments) {
  return testing::start_child([&] {
    std::vector<char*> words{const_cast<char*>(DIECAST_TOOL)}, variables;
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& variable : diecast.environment()) {
      variables.push_back(const_cast<char*>(variable.c_str()));
    }
    words.push_back(nullptr);
    variables.push_back(nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {0, 1, 2}) ::dup2(nowhere, stream);
    ::execve(DIECAST_TOOL, words.data(), variables.data());
    return 127;
  });
}

std::ptrdiff_t lines(const std::string& path) {
  const std::string text = testing::text_of(path);
  return std::ranges::count(text, '\n');
}

// P-04
TEST(ToolWarm, InterruptedLeavesWholeEntriesAndGoesOnNextTime) {
  for (const int signal : {SIGINT, SIGTERM}) {
    ToolRun diecast;
    const std::string manifest = diecast.folder / "manifest.txt";
    const std::string journal = diecast.folder / "journal";
    testing::write_text(manifest, "amax IN=bf16,f16,f32 COLS=0,64,128,4096 @ sm_90a\n");
    diecast.set("DIECAST_FAKE_NVRTC_JOURNAL", journal);
    diecast.set("DIECAST_FAKE_NVRTC_SLEEP_MS", "100");
    const pid_t warming = start(diecast, {"warm", manifest, "--jobs", "1"});
    for (int i = 0; i < 4000 && lines(journal) < 4; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_EQ(::kill(warming, signal), 0);
    EXPECT_EQ(testing::wait_for_child(warming), 128 + signal);

    diecast.set("DIECAST_FAKE_NVRTC_SLEEP_MS", "0");
    const auto checked = diecast({"cache", "verify"});
    EXPECT_EQ(checked.exit_code, 0);
    EXPECT_NE(checked.output.find(" good, 0 damaged\n"), std::string::npos) << checked.output;
    EXPECT_NE(checked.output, "0 good, 0 damaged\n");
    for (const std::string& name : testing::tree(diecast.cache_path())) {
      EXPECT_EQ(name.find(".t-"), std::string::npos) << name;
    }
    EXPECT_EQ(diecast({"warm", manifest}).exit_code, 0);
    EXPECT_EQ(diecast({"warm", manifest, "--expect-no-new"}).exit_code, 0);
    EXPECT_LE(lines(journal), 12 + 2);  // again: what was compiling, and what was being synced
  }
}

// P-03, P-04
TEST(ToolQuantize, InterruptedLeavesNothingBesideItsInput) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGKILL}) {
    ToolRun diecast;
    const testing::TemporaryDirectory models;
    if (!testing::has_unnamed_files(models.path())) GTEST_SKIP() << "no unnamed files here";
    testing::write_small_checkpoint(models / "in.safetensors");
    const std::string journal = diecast.folder / "journal";
    diecast.set("DIECAST_LIBCUDA", DIECAST_FAKE_DIR "/libfake_cuda.so");
    diecast.set("DIECAST_FAKE_CUDA_CC", "90");
    diecast.set("DIECAST_FAKE_NVRTC_JOURNAL", journal);
    diecast.set("DIECAST_FAKE_NVRTC_SLEEP_MS", "60000");  // the output is begun, a kernel awaited
    const pid_t quantizing =
        start(diecast, {"quantize", models / "in.safetensors", models / "out.safetensors"});
    for (int i = 0; i < 4000 && lines(journal) < 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_GE(lines(journal), 1);  // several jobs may await kernels
    ASSERT_EQ(::kill(quantizing, signal), 0);
    EXPECT_EQ(testing::wait_for_child(quantizing), 128 + signal);
    EXPECT_EQ(testing::tree(models.path()), std::vector<std::string>{"in.safetensors"});
  }
}

}  // namespace
}  // namespace diecast
