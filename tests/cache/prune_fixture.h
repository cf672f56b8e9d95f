// A cache with entries of known ages, and collections of it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <vector>

#include "cache/disk_cache_fixture.h"

namespace diecast::testing {

inline constexpr std::uint64_t kKilobyte = 1024;

class Prune : public testing::DiskCacheTest {
 protected:
  // Publishes `count` samples of some 16 KB, each used a second after the one before, an hour ago.
  void fill(int count) {
    for (int i = 0; i < count; ++i) {
      const Sample sample = make_sample(i, 15000);
      ASSERT_TRUE(cache_->publish(sample.key, sample.artifact));
      age(path_of(sample), 3600 - i);
    }
  }
  static void age(const std::string& path, std::int64_t old) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - old, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }
  PruneResult prune(PruneLimits limits) { return cache_->prune(limits).value(); }
  static PruneLimits keep(std::uint64_t bytes) {
    PruneLimits limits;
    limits.bytes = bytes;
    return limits;
  }
  std::vector<int> present(int count) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) {
      if (::access(path_of(make_sample(i)).c_str(), F_OK) == 0) out.push_back(i);
    }
    return out;
  }
  std::string temporary(std::int64_t old, pid_t process, const std::string& boot) {
    const std::string path = path_of(make_sample(0)).substr(0, path_of(make_sample(0)).rfind('/')) +
                             cat("/.t-", hex16(random_bits()), "-", process, "-", boot);
    testing::write_text(path, "half an entry");
    EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
    age(path, old);
    return path;
  }
};

}  // namespace diecast::testing
