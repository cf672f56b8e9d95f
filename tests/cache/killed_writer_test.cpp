// A writer killed at any of its calls: the entry is absent or whole, at most one temporary is left
// (none where unnamed files work), and the next process publishes as if nothing had been.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "cache/disk_cache_fixture.h"
#include "child_process.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::same;
using testing::Sample;
using testing::TemporaryDirectory;

FakeFileSystem::Rule killed_at(int number) {
  return [number](const FileCall& call) {
    if (call.number == number) ::raise(SIGKILL);
    return FileFault{};
  };
}

FakeFileSystem::Rule without_unnamed_files() {
  return [](const FileCall& call) {
    return FileFault{(call.flags & O_TMPFILE) == O_TMPFILE ? EOPNOTSUPP : 0};
  };
}

std::size_t temporaries(const std::string& root) {
  return static_cast<std::size_t>(std::ranges::count_if(
      testing::tree(root), [](const std::string& name) { return name.find("/.t-") != name.npos; }));
}

// Kills a process that opens a cache, takes the lock and publishes, at its n-th call; false when it
// ended by itself before.
bool killed(int n, bool unnamed, const Sample& sample) {
  TemporaryDirectory folder(testing::memory_directory());
  const std::string root = folder / "cache";
  const int code = testing::in_child([&] {
    FakeFileSystem files(unnamed ? killed_at(n)
                                 : FakeFileSystem::both(killed_at(n), without_unnamed_files()));
    const auto cache = DiskCache::open(root, files).value();
    const DiskCache::Lock lock = cache->lock(sample.key, std::chrono::seconds(1), {});
    return cache->publish(sample.key, sample.artifact) ? 0 : 1;
  });
  EXPECT_TRUE(code == 0 || code == 128 + SIGKILL) << code;
  const auto cache = DiskCache::open(root).value();
  EXPECT_LE(temporaries(root), unnamed ? 0u : 1u);
  EXPECT_TRUE(cache->lock(sample.key, std::chrono::milliseconds(0), {}).held());
  const auto found = cache->find(sample.key, kSampleCompiler);
  EXPECT_TRUE(!found || same(*found, sample.artifact));
  EXPECT_EQ(cache->statistics().rejected, 0u);
  EXPECT_TRUE(cache->publish(sample.key, sample.artifact));
  EXPECT_TRUE(cache->find(sample.key, kSampleCompiler));
  EXPECT_TRUE(code != 0 || found);
  return code != 0;
}

class KilledWriter : public ::testing::TestWithParam<bool> {};

TEST_P(KilledWriter, LeavesAWholeEntryOrNone) {
  const Sample sample = make_sample(1, 3000);
  int n = 1;
  while (killed(n, GetParam(), sample)) {
    ASSERT_FALSE(HasFailure()) << n;
    ASSERT_LT(++n, 200);
  }
  EXPECT_GT(n, 30);
  RecordProperty("kill_points", n - 1);
}

INSTANTIATE_TEST_SUITE_P(UnnamedFiles, KilledWriter, ::testing::Bool());

}  // namespace
}  // namespace diecast
