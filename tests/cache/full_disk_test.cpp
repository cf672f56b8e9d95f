// E-01 on disks that are really full: a small tmpfs in a mount namespace of the test's own. Without
// room, or without names for more files, what fits is kept, the rest is a miss, and room that comes
// back is used.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cache/disk_cache_fixture.h"
#include "child_process.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::kSampleCompiler;
using testing::make_sample;
using testing::same;
using testing::Sample;

// What a child found.
enum FullDiskOutcome {
  kFine,
  kNotAllowed,
  kNoCache,
  kNeverFull,
  kLost,
  kTorn,
  kStaysFull,
  kSaidToTake
};

constexpr int kMoreThanFit = 64;

Sample large_sample(int number) { return make_sample(number, 9000); }

// Publishes until nothing fits; what was said to be published must be there, and whole.
FullDiskOutcome fill_up(const std::string& root) {
  testing::FakeFileSystem files;
  const auto cache = DiskCache::open(root, files);
  if (!cache) return kNoCache;
  std::vector<bool> published;
  for (int i = 0; i < kMoreThanFit; ++i) {
    published.push_back((*cache)->publish(large_sample(i).key, large_sample(i).artifact));
  }
  const CacheStatistics counts = (*cache)->statistics();
  if (counts.publish_failures != 1 || counts.publishes == 0) return kNeverFull;
  for (int i = 0; i < kMoreThanFit; ++i) {
    const auto found = (*cache)->find(large_sample(i).key, kSampleCompiler);
    if (found.has_value() != published[static_cast<std::size_t>(i)]) return kLost;
    if (found && !same(*found, large_sample(i).artifact)) return kTorn;
  }
  if (!(*cache)->clear()) return kStaysFull;
  files.clock_offset = 61;  // it is left alone for a minute
  return (*cache)->publish(large_sample(1).key, large_sample(1).artifact) ? kFine : kStaysFull;
}

// On a disk that small entries fit on, whether one can be written is asked for kernels as they are.
FullDiskOutcome ask(const std::string& root) {
  const auto cache = DiskCache::open(root);
  if (!cache) return kNoCache;
  if ((*cache)->check_writing()) return kSaidToTake;
  if (!(*cache)->publish(large_sample(1).key, large_sample(1).artifact)) return kStaysFull;
  const Sample kernel = make_sample(2, 140 << 10);
  return (*cache)->publish(kernel.key, kernel.artifact) ? kNeverFull : kFine;
}

FullDiskOutcome on_mounted(const std::string& folder, const char* size,
                           FullDiskOutcome (*use)(const std::string& root)) {
  // Namespaces of its own: root needs no other user's.
  if (::unshare(CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", folder.c_str(), "tmpfs", 0, size) != 0) {
    return kNotAllowed;
  }
  ::chmod(folder.c_str(), 0700);
  return use(folder + "/cache");
}

class FullDisk : public ::testing::TestWithParam<const char*> {};

TEST_P(FullDisk, KeepsWhatFitsAndIsUsedAgainOnceThereIsRoom) {
  const testing::TemporaryDirectory folder;
  const int outcome =
      testing::in_child([&] { return on_mounted(folder.path(), GetParam(), fill_up); });
  if (outcome == kNotAllowed) GTEST_SKIP() << "nothing may be mounted here";
  EXPECT_EQ(outcome, kFine);
}

TEST(NearlyFullDisk, IsSaidToTakeNothingWhereAKernelDoesNotFit) {
  const testing::TemporaryDirectory folder;
  const int outcome = testing::in_child([&] { return on_mounted(folder.path(), "size=64k", ask); });
  if (outcome == kNotAllowed) GTEST_SKIP() << "nothing may be mounted here";
  EXPECT_EQ(outcome, kFine);
}

INSTANTIATE_TEST_SUITE_P(Disks, FullDisk, ::testing::Values("size=256k", "nr_inodes=32"),
                         [](const auto& info) { return info.index == 0 ? "Bytes" : "Files"; });

}  // namespace
}  // namespace diecast
