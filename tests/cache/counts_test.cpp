// The sums of what processes did with a root: for people, added up in one page, lost rather than
// waited for.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "cache/disk_cache_fixture.h"

namespace diecast {
namespace {

using CountsTest = testing::DiskCacheTest;

TEST_F(CountsTest, AddsCountsUpInOnePage) {
  EXPECT_EQ(cache_->counts(), Counts());
  EXPECT_TRUE(cache_->add_counts({{"hits", 3}, {"misses", 1}}));
  const auto again = DiskCache::open(folder_ / "cache").value();
  EXPECT_TRUE(again->add_counts({{"hits", 4}, {"of_a_later_diecast", 5}}));
  EXPECT_EQ(cache_->counts(), (Counts{{"hits", 7}, {"misses", 1}, {"of_a_later_diecast", 5}}));
  const std::string page = testing::text_of(folder_ / "cache/v1/counts");
  EXPECT_EQ(page.size(), 4096u);
  EXPECT_EQ(page.substr(0, 17), "diecast counts 1 ");
  EXPECT_EQ(page.substr(49, 40), "\nhits 7\nmisses 1\nof_a_later_diecast 5\n\n\n");
}

TEST_F(CountsTest, BelievesNoDamagedCountsAndBeginsAnew) {
  ASSERT_TRUE(cache_->add_counts({{"hits", 3}}));
  const std::string path = folder_ / "cache/v1/counts", page = testing::text_of(path);
  for (std::size_t at = 0; at < 80; ++at) {
    std::string damaged = page;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    testing::write_text(path, damaged);
    ASSERT_EQ(cache_->counts(), Counts()) << at;
  }
  testing::write_text(path, page.substr(0, 4095));
  EXPECT_EQ(cache_->counts(), Counts());
  EXPECT_TRUE(cache_->add_counts({{"hits", 2}}));
  EXPECT_EQ(cache_->counts(), (Counts{{"hits", 2}}));
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder_ / "elsewhere", path);
  EXPECT_FALSE(cache_->add_counts({{"hits", 2}}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(CountsTest, LosesCountsRatherThanWaitForThem) {
  ASSERT_TRUE(cache_->add_counts({{"hits", 1}}));
  const int file = ::open((folder_ / "cache/v1/counts").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(system_files().try_lock(file, 0, 4096), 0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(cache_->add_counts({{"hits", 1}}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  ::close(file);
  EXPECT_TRUE(cache_->add_counts({{"hits", ~std::uint64_t{0}}}));
  EXPECT_EQ(cache_->counts()["hits"], 9223372036854775807u);  // never wraps
}

TEST_F(CountsTest, OfManyAtOnceAreNeverDamaged) {
  std::atomic<std::uint64_t> added{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto cache = DiskCache::open(folder_ / "cache").value();
      for (int n = 0; n < 50; ++n) added += cache->add_counts({{"hits", 1}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(added, 0u);
  EXPECT_EQ(cache_->counts()["hits"], added);
}

TEST_F(CountsTest, OfAReadOnlyRootAreNotWritten) {
  const auto other = DiskCache::open(folder_ / "cache", system_files(), RootAccess::read).value();
  EXPECT_FALSE(other->add_counts({{"hits", 1}}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cache/v1/counts"));
}

}  // namespace
}  // namespace diecast
