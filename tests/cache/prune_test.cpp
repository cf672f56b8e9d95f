// Collecting: what goes and what stays, that others are not disturbed, and that only names of ours
// are touched.
#include <diecast/cache/cache_directory.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cache/prune_fixture.h"
#include "child_process.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using std::chrono::seconds;
using testing::FakeFileSystem;
using testing::kKilobyte;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::Prune;
using testing::Sample;
using testing::tree;

TEST_F(Prune, RemovesTheLeastRecentlyUsedDownToFourFifths) {
  fill(10);
  const PruneResult whole = prune(keep(0));
  EXPECT_EQ(whole.entries, 10u);
  EXPECT_EQ(whole.removed, 0u);
  EXPECT_EQ(prune(keep(whole.bytes)).removed, 0u);
  const std::uint64_t each = whole.bytes / 10;
  const PruneResult done = prune(keep(whole.bytes - each));
  EXPECT_EQ(done.removed, 3u);  // 4/5 of nine entries' bytes is seven entries
  EXPECT_EQ(done.removed_bytes, 3 * each);
  EXPECT_EQ(present(10), (std::vector<int>{3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(prune(keep(whole.bytes - each)).removed, 0u);
}

TEST_F(Prune, AHitKeepsAnEntry) {
  fill(4);
  age(path_of(make_sample(0)), 8 * 3600);  // a hit marks an entry once in six hours
  EXPECT_TRUE(cache_->find(make_sample(0, 15000).key, kSampleCompiler));
  const PruneResult whole = prune(keep(0));
  (void)prune(keep(whole.bytes - kKilobyte));
  EXPECT_EQ(present(4), (std::vector<int>{0, 2, 3}));
}

// what a slower process has just published is not collected under its hands.
TEST_F(Prune, YoungEntriesStayUpToTwiceTheBudget) {
  fill(4);
  for (int i = 0; i < 4; ++i) age(path_of(make_sample(i)), 60);
  const std::uint64_t bytes = prune(keep(0)).bytes;
  EXPECT_EQ(prune(keep(bytes - kKilobyte)).removed, 0u);
  EXPECT_EQ(prune(keep(bytes / 2)).removed, 0u);
  EXPECT_EQ(prune(keep(bytes / 4)).removed, 4u);
}

TEST_F(Prune, RemovesWhatWasNotUsedForLong) {
  fill(3);
  age(path_of(make_sample(1)), 40 * 86400);
  PruneLimits limits = keep(0);
  limits.unused = seconds(30 * 86400);
  EXPECT_EQ(prune(limits).removed, 1u);
  EXPECT_EQ(present(3), (std::vector<int>{0, 2}));
}

// E-23: nothing is immortal because a clock was wrong.
TEST_F(Prune, AnEntryFromTheFutureCountsAsUsedNow) {
  fill(3);
  age(path_of(make_sample(0)), -400 * 86400);
  FakeFileSystem later;
  later.clock_offset = 7200;
  const auto cache = DiskCache::open(folder_ / "cache", later).value();
  const std::uint64_t bytes = cache->prune(keep(0))->bytes;
  EXPECT_EQ(cache->prune(keep(bytes / 3))->removed, 3u);  // crowded: young ones go too
}

TEST_F(Prune, IsBoundedAndGoesOnTheNextTime) {
  fill(10);
  PruneLimits limits = keep(kKilobyte);
  limits.most = 4;
  EXPECT_FALSE(prune(limits).finished);
  EXPECT_EQ(present(10).size(), 6u);
  EXPECT_FALSE(prune(limits).finished);
  EXPECT_TRUE(prune(limits).finished);
  EXPECT_TRUE(present(10).empty());
  limits.time = std::chrono::milliseconds(0);
  fill(2);
  EXPECT_FALSE(prune(limits).finished);
  EXPECT_EQ(present(2).size(), 2u);
}

TEST_F(Prune, ADryRunRemovesNothing) {
  fill(4);
  const auto before = tree(folder_.path());
  PruneLimits limits = keep(kKilobyte);
  limits.dry_run = true;
  EXPECT_EQ(prune(limits).removed, 4u);
  EXPECT_EQ(tree(folder_.path()).size(), before.size() + 1);  // the file `gc`
}

// P-21.
TEST_F(Prune, RemovesTemporariesOfTheDeadAndTheOldOnly) {
  fill(1);
  const std::string boot = testing::text_of("/proc/sys/kernel/random/boot_id").substr(0, 8);
  const pid_t dead = testing::start_child([] { return 0; });
  ASSERT_EQ(testing::wait_for_child(dead), 0);
  const std::string ours = temporary(30, ::getpid(), boot), young = temporary(30, dead, boot),
                    died = temporary(90, dead, boot), old = temporary(3700, ::getpid(), boot),
                    other_boot = temporary(90, dead, "01234567");
  EXPECT_EQ(prune(keep(0)).temporaries, 2u);
  EXPECT_EQ(::access(ours.c_str(), F_OK), 0);
  EXPECT_EQ(::access(young.c_str(), F_OK), 0);
  EXPECT_EQ(::access(other_boot.c_str(), F_OK), 0);
  EXPECT_NE(::access(died.c_str(), F_OK), 0);
  EXPECT_NE(::access(old.c_str(), F_OK), 0);
  EXPECT_EQ(present(1).size(), 1u);
}

// E-09, I4.
TEST_F(Prune, TouchesNoNameThatIsNotOurs) {
  fill(1);
  const std::string shard = path_of(make_sample(0)).substr(0, path_of(make_sample(0)).rfind('/'));
  std::vector<std::string> theirs = {shard + "/.nfs0000000012", shard + "/notes.txt",
                                     shard + "/.t-x",           folder_ / "cache/v1/.snapshot",
                                     folder_ / "cache/v2",      folder_ / "cache/letter"};
  for (const std::string& path : theirs) {
    testing::write_text(path, "mine");
    age(path, 40 * 86400);
  }
  ASSERT_EQ(::symlink("/etc/passwd", (shard + "/" + entry_name(Digest{1, 2})).c_str()), 0);
  theirs.push_back(shard + "/" + entry_name(Digest{1, 2}));
  EXPECT_EQ(cache_->clear().value().removed, 1u);
  struct stat status;
  for (const std::string& path : theirs) EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
}

TEST_F(Prune, ClearRemovesEverythingOfOneCompilerOrOfAll) {
  fill(3);
  Sample other = make_sample(7);
  other.artifact.compiler = "nvrtc-12.9.41-deadbeef";
  ASSERT_TRUE(cache_->publish(other.key, other.artifact));
  EXPECT_EQ(cache_->clear(other.artifact.compiler).value().removed, 1u);
  EXPECT_EQ(cache_->list().value().size(), 3u);
  EXPECT_EQ(cache_->clear().value().removed, 3u);
  const std::vector<std::string> bare = {"cache", "cache/CACHEDIR.TAG", "cache/DIECAST-CACHE",
                                         "cache/v1", "cache/v1/gc"};
  EXPECT_EQ(tree(folder_.path()), bare);
  const Sample sample = make_sample(1);
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  EXPECT_TRUE(hit(sample));
}

// one collector at a time.
TEST_F(Prune, LeavesTheWorkToACollectorThatIsAtItAlready) {
  fill(2);
  (void)prune(keep(0));
  FileSystem& files = system_files();
  const int gc = ::open((folder_ / "cache/v1/gc").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(files.try_lock(gc, 0, 1), 0);
  EXPECT_TRUE(prune(keep(kKilobyte)).busy);
  EXPECT_EQ(present(2).size(), 2u);
  ::close(gc);
  EXPECT_EQ(prune(keep(kKilobyte)).removed, 2u);
}

TEST_F(Prune, ReadOnlyRootsAreNotCollected) {
  fill(1);
  const auto reader = DiskCache::open(folder_ / "cache", system_files(), RootAccess::read).value();
  const auto refused = reader->prune(keep(kKilobyte));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(present(1).size(), 1u);
}

TEST_F(Prune, IsDueAfterASixtyFourthOfTheBudget) {
  EXPECT_FALSE(cache_->prune_due(1 << 20));
  const Sample sample = make_sample(1, 9000);
  ASSERT_TRUE(cache_->publish(sample.key, sample.artifact));
  EXPECT_FALSE(cache_->prune_due(1 << 20));  // a new root's day begins
  EXPECT_FALSE(cache_->prune_due(0));
  EXPECT_TRUE(cache_->prune_due(9000 * 64));
  (void)prune(keep(0));
  EXPECT_FALSE(cache_->prune_due(9000 * 64));
}

TEST_F(Prune, IsDueWhenNobodyCollectedForADay) {
  fill(1);
  (void)prune(keep(0));
  FakeFileSystem tomorrow;
  tomorrow.clock_offset = 90000;
  const auto a_process = [&](int i) {
    auto cache = DiskCache::open(folder_ / "cache", tomorrow).value();
    EXPECT_FALSE(cache->prune_due(1ull << 40));  // it has added nothing
    const Sample sample = make_sample(i);
    EXPECT_TRUE(cache->publish(sample.key, sample.artifact));
    return cache;
  };
  const auto cache = a_process(5);
  EXPECT_TRUE(cache->prune_due(1ull << 40));
  EXPECT_FALSE(cache->prune_due(1ull << 40));  // asked once
  EXPECT_TRUE(cache->prune(keep(0)));
  EXPECT_FALSE(a_process(6)->prune_due(1ull << 40));  // by now somebody has
}

// a reader that has the file open is not disturbed.
TEST_F(Prune, AnEntryRemovedWhileItIsReadIsAHitAllTheSame) {
  fill(1);
  const Sample sample = make_sample(0, 15000);
  bool opened = false;
  FakeFileSystem files([&](const testing::FileCall& call) {
    opened = opened || call.path.ends_with(".dce");
    if (opened && call.name == "read_at") ::unlink(path_of(sample).c_str());
    return testing::FileFault{};
  });
  const auto cache = DiskCache::open(folder_ / "cache", files).value();
  EXPECT_TRUE(cache->find(sample.key, kSampleCompiler));
  EXPECT_FALSE(cache->find(sample.key, kSampleCompiler));
  EXPECT_EQ(cache->statistics().rejected, 0u);
}

// An entry that is used or replaced after it was looked at is not the one that was to go.
TEST_F(Prune, AnEntryThatIsUsedMeanwhileStays) {
  fill(3);
  std::string wanted = path_of(make_sample(0));
  int seen = 0;
  FakeFileSystem files([&](const testing::FileCall& call) {
    const bool looked = call.name == "status_at" && wanted.ends_with(call.path);
    if (looked && !call.path.empty() && ++seen == 2) age(wanted, 0);
    return testing::FileFault{};
  });
  const auto cache = DiskCache::open(folder_ / "cache", files).value();
  EXPECT_EQ(cache->prune(keep(kKilobyte)).value().removed, 2u);
  EXPECT_EQ(present(3), std::vector<int>{0});
}

}  // namespace
}  // namespace diecast
