// Collecting within bounds, and what is collected besides entries of ours: folders and old formats.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "cache/prune_fixture.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::kKilobyte;
using testing::make_sample;
using testing::Prune;
using testing::Sample;

// A root that takes too long to look at is looked at in part, another part each time, and comes
// down to its size all the same.
TEST_F(Prune, LooksNoLongerThanItMay) {
  fill(24);
  std::atomic<int> looks = 0;
  FakeFileSystem slow([&](const testing::FileCall& call) {
    if (call.name == "status_at" && call.path.ends_with(".dce")) {
      ++looks;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return testing::FileFault{};
  });
  const auto cache = DiskCache::open(cache_->root(), slow).value();
  PruneLimits limits = keep(8 * 20 * kKilobyte);
  limits.time = std::chrono::milliseconds(60);
  const PruneResult first = cache->prune(limits).value();
  EXPECT_FALSE(first.finished);
  EXPECT_LT(first.entries, 12u);
  EXPECT_LT(looks, 24);
  int more = 0;
  while (present(24).size() > 12 && more < 100) more += cache->prune(limits).ok();
  EXPECT_LT(more, 100);
  EXPECT_GE(present(24).size(), 4u);
}

TEST_F(Prune, RemovesWhatOldFormatsLeaveAndTheirFoldersAfterAMonth) {
  fill(1);
  const std::string root = folder_ / "cache";
  const std::string entry = path_of(make_sample(0)).substr(root.size() + 3);
  std::vector<std::string> planted;
  for (const char* version : {"/v0", "/v2", "/v01", "/vx"}) {
    planted.push_back(root + version + entry);
    std::filesystem::create_directories(std::filesystem::path(planted.back()).parent_path());
    testing::write_text(planted.back(), "of another format");
    age(planted.back(), 31 * 86400);
  }
  const std::string used = planted[0].substr(0, planted[0].size() - 5) + "0.dce";
  testing::write_text(used, "still used");
  prune({});
  EXPECT_FALSE(std::filesystem::exists(planted[0]));
  EXPECT_TRUE(std::filesystem::exists(used));
  for (std::size_t i = 1; i < planted.size(); ++i) EXPECT_TRUE(std::filesystem::exists(planted[i]));
  age(used, 31 * 86400);
  prune({});
  EXPECT_FALSE(std::filesystem::exists(used));
  const std::filesystem::path shard = std::filesystem::path(used).parent_path();
  age(shard, 7200);
  age(shard.parent_path(), 7200);
  prune({});
  EXPECT_FALSE(std::filesystem::exists(shard));
  EXPECT_EQ(present(1).size(), 1u);
}

TEST_F(Prune, RemovesTheFoldersOfACompilerThatHasNothingLeft) {
  Sample old = make_sample(0);
  old.artifact.compiler = "nvrtc-12.0.1";
  ASSERT_TRUE(cache_->publish(old.key, old.artifact));
  const std::filesystem::path shard = std::filesystem::path(path_of(old)).parent_path();
  age(path_of(old), 40 * 86400);
  PruneLimits limits;
  limits.unused = std::chrono::hours(24 * 30);
  prune(limits);
  EXPECT_TRUE(std::filesystem::exists(shard));  // somebody may be about to fill it
  age(shard, 7200);
  prune(limits);
  EXPECT_FALSE(std::filesystem::exists(shard));
  age(shard.parent_path(), 7200);
  prune(limits);
  EXPECT_FALSE(std::filesystem::exists(shard.parent_path()));
}

TEST_F(Prune, WhatTheDiskDoesNotLetGoIsCounted) {
  fill(3);
  FakeFileSystem stubborn([](const testing::FileCall& call) {
    const bool entry = call.name == "unlink_at" && call.path.ends_with(".dce");
    return testing::FileFault{entry ? EACCES : 0};
  });
  const auto cache = DiskCache::open(cache_->root(), stubborn).value();
  const PruneResult done = cache->clear().value();
  EXPECT_EQ(done.kept, 3u);
  EXPECT_EQ(done.removed, 0u);
  EXPECT_EQ(present(3).size(), 3u);
}

TEST_F(Prune, OthersGoForWhatTheDiskDoesNotLetGo) {
  fill(10);
  const PruneResult whole = prune(keep(0));
  const std::string kept = path_of(make_sample(0));
  FakeFileSystem stubborn([&](const testing::FileCall& call) {
    const bool entry = call.name == "unlink_at" && kept.ends_with(call.path);
    return testing::FileFault{entry ? EACCES : 0};
  });
  const auto cache = DiskCache::open(cache_->root(), stubborn).value();
  const PruneResult done = cache->prune(keep(whole.bytes / 2)).value();
  EXPECT_EQ(done.removed, 6u);  // 4/5 of five entries' bytes is four entries
  EXPECT_EQ(done.kept, 1u);
  EXPECT_EQ(present(10), (std::vector<int>{0, 7, 8, 9}));
}

TEST_F(Prune, IsRefusedWhereItsOwnFileCannotBeOpened) {
  fill(2);
  const auto collected = [&](int error) {
    FakeFileSystem files([=](const testing::FileCall& call) {
      return testing::FileFault{call.name == "open_at" && call.path == "gc" ? error : 0};
    });
    return DiskCache::open(cache_->root(), files).value()->prune(keep(kKilobyte));
  };
  EXPECT_EQ(collected(EACCES).error().what,
            cat("cannot open \"", cache_->root(), "/v1/gc\": Permission denied (errno 13)"));
  EXPECT_EQ(present(2).size(), 2u);
  EXPECT_EQ(collected(ENOSPC).value().removed, 2u);  // who else makes room
}

}  // namespace
}  // namespace diecast
