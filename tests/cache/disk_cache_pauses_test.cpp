// A disk in trouble is left alone for a while, and for no longer, and for no other reason.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cache/disk_cache_fixture.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::Sample;

class DiskCachePauses : public testing::DiskCacheTest {
 protected:
  // How many of ten publishes reach the disk when every write fails with `error`.
  std::uint64_t tried(int error) {
    FakeFileSystem files(FakeFileSystem::refuse("write_at", error));
    const auto cache = DiskCache::open(folder_ / "cache", files).value();
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(cache->publish(sample_.key, sample_.artifact));
    }
    files.clock_offset = 61;
    const std::uint64_t tried = cache->statistics().publish_failures;
    EXPECT_EQ(cache->statistics().publishes_skipped, 10 - tried);
    EXPECT_FALSE(cache->publish(sample_.key, sample_.artifact));
    retried_ = cache->statistics().publish_failures - tried;
    return tried;
  }
  const Sample sample_ = make_sample();
  std::uint64_t retried_ = 0;
};

TEST_F(DiskCachePauses, LeaveAFullDiskAloneForAMinute) {
  EXPECT_EQ(tried(ENOSPC), 1u);
  EXPECT_EQ(retried_, 1u);
  EXPECT_EQ(tried(EDQUOT), 1u);
}

TEST_F(DiskCachePauses, LeaveADiskWithErrorsAloneAfterThree) {
  EXPECT_EQ(tried(EIO), 3u);
  EXPECT_EQ(retried_, 1u);
}

TEST_F(DiskCachePauses, LeaveAReadOnlyDiskAloneForGood) {
  EXPECT_EQ(tried(EROFS), 1u);
  EXPECT_EQ(retried_, 0u);
}

TEST_F(DiskCachePauses, LeaveADiskThatTheyMayNotWriteAloneForGood) {
  EXPECT_EQ(tried(EACCES), 1u);
  EXPECT_EQ(retried_, 0u);
  EXPECT_EQ(tried(EPERM), 1u);
}

TEST_F(DiskCachePauses, DoNotComeFromTooManyOpenFiles) { EXPECT_EQ(tried(EMFILE), 10u); }

TEST_F(DiskCachePauses, StopReadsAfterThreeErrorsForAMinute) {
  ASSERT_TRUE(cache_->publish(sample_.key, sample_.artifact));
  std::atomic<bool> broken = true;
  FakeFileSystem files(
      [&](const FileCall& call) { return FileFault{broken && call.name == "read_at" ? EIO : 0}; });
  const auto cache = DiskCache::open(folder_ / "cache", files).value();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(cache->find(sample_.key, kSampleCompiler));
  EXPECT_EQ(cache->statistics().rejected, 3u);
  EXPECT_EQ(cache->statistics().misses, 10u);
  broken = false;
  EXPECT_FALSE(cache->find(sample_.key, kSampleCompiler));
  files.clock_offset = 61;
  EXPECT_TRUE(cache->find(sample_.key, kSampleCompiler));
}

TEST_F(DiskCachePauses, DoNotComeFromErrorsThatAreNotInARow) {
  bool broken = false;
  FakeFileSystem files([&](const FileCall& call) {
    const bool fails = broken && (call.name == "read_at" || call.name == "write_at");
    return FileFault{fails ? EIO : 0};
  });
  const auto cache = DiskCache::open(folder_ / "cache", files).value();
  for (int i = 0; i < 3; ++i) {
    const Sample sample = make_sample(i);
    for (broken = true; const int try_again : {1, 2}) {
      EXPECT_FALSE(cache->publish(sample.key, sample.artifact)) << try_again;
    }
    broken = false;
    EXPECT_TRUE(cache->publish(sample.key, sample.artifact));
    for (broken = true; const int try_again : {1, 2}) {
      EXPECT_FALSE(cache->find(sample.key, kSampleCompiler)) << try_again;
    }
    broken = false;
    EXPECT_TRUE(cache->find(sample.key, kSampleCompiler));
  }
}

TEST_F(DiskCachePauses, TakeNoEntryForSomethingElseForAMomentsTrouble) {
  ASSERT_TRUE(cache_->publish(sample_.key, sample_.artifact));
  // Whether publishing what is there fails, once reading it was refused and no longer is.
  const auto fails_after = [&](int error) {
    std::atomic<int> now = error;
    FakeFileSystem files([&](const FileCall& call) {
      const bool opens = call.name == "open_at" && call.path.ends_with(".dce");
      return FileFault{opens ? now.load() : 0};
    });
    const auto cache = DiskCache::open(folder_ / "cache", files).value();
    EXPECT_FALSE(cache->find(sample_.key, kSampleCompiler));
    now = 0;
    const bool fails = !cache->publish(sample_.key, sample_.artifact);
    EXPECT_EQ(cache->statistics().publish_error, fails ? -EEXIST : 0);
    EXPECT_TRUE(cache->find(sample_.key, kSampleCompiler));
    EXPECT_TRUE(cache->publish(sample_.key, sample_.artifact));
    return fails;
  };
  for (const int error : {EMFILE, ENFILE, EIO, ESTALE, ENOMEM}) EXPECT_FALSE(fails_after(error));
  for (const int error : {EACCES, EPERM, ELOOP}) EXPECT_TRUE(fails_after(error));
}

TEST_F(DiskCachePauses, KeepReadsGoingOnAReadOnlyDisk) {
  ASSERT_TRUE(cache_->publish(sample_.key, sample_.artifact));
  FakeFileSystem files([](const FileCall& call) {
    const bool writes = (call.flags & (O_CREAT | O_RDWR)) != 0 || call.name == "set_times";
    return FileFault{call.name != "rename_at" && writes ? EROFS : 0};
  });
  const auto cache = DiskCache::open(folder_ / "cache", files).value();
  const Sample other = make_sample(5);
  EXPECT_FALSE(cache->publish(other.key, other.artifact));
  const int calls = files.calls();
  EXPECT_FALSE(cache->publish(other.key, other.artifact));
  EXPECT_FALSE(cache->lock(other.key, std::chrono::seconds(9), {}).held());
  EXPECT_EQ(files.calls(), calls);  // after the first refusal nothing is tried
  EXPECT_TRUE(cache->find(sample_.key, kSampleCompiler));
}

}  // namespace
}  // namespace diecast
