// How many compiles fit, on machines that a folder describes.
#include <diecast/runtime/compile_jobs.h>
#include <gtest/gtest.h>

#include "temporary_directory.h"

namespace diecast {
namespace {

class CompileJobs : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    testing::write_text(file, text);
  }
  void memory(long megabytes) {
    write("proc/meminfo",
          "MemTotal: 99999999 kB\nMemAvailable:   " + std::to_string(megabytes * 1024) + " kB\n");
  }
  std::size_t jobs(std::size_t cores) { return compile_jobs(cores, folder_.path()); }
  testing::TemporaryDirectory folder_;
};

TEST_F(CompileJobs, AreOneACore) {
  EXPECT_EQ(jobs(8), 8u);
  EXPECT_EQ(jobs(0), 1u);  // nobody knows
  memory(1 << 20);
  EXPECT_EQ(jobs(8), 8u);
}

TEST_F(CompileJobs, AreAsManyAsTheMemoryLeftTakes) {
  memory(1024);
  EXPECT_EQ(jobs(8), 3u);
  memory(10);
  EXPECT_EQ(jobs(8), 1u);
}

TEST_F(CompileJobs, FitTheContainer) {
  memory(1 << 20);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "1258291200\n");
  EXPECT_EQ(jobs(64), 4u);
  write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(jobs(64), 3u);
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(jobs(64), 64u);
}

TEST_F(CompileJobs, FitEveryGroupAbove) {
  write("proc/self/cgroup", "12:devices:/x\n0::/pods/a/b\n");
  write("sys/fs/cgroup/pods/a/b/cpu.max", "800000 100000\n");
  EXPECT_EQ(jobs(64), 8u);
  write("sys/fs/cgroup/pods/a/cpu.max", "50000 100000\n");
  EXPECT_EQ(jobs(64), 1u);
  write("sys/fs/cgroup/pods/a/cpu.max", "nonsense\n");
  write("sys/fs/cgroup/pods/memory.max", "734003200\n");
  EXPECT_EQ(jobs(64), 2u);
}

}  // namespace
}  // namespace diecast
