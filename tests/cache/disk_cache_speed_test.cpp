// What a hit costs: open, read and verify an entry of 16 KiB, the file being in the page cache. The
// goal is 20 microseconds; the bound here is fifty times that, for busy machines and sanitizers.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "cache/disk_cache_fixture.h"

namespace diecast {
namespace {

using testing::make_sample;
using testing::Sample;

class DiskHit : public testing::DiskCacheTest {};

TEST_F(DiskHit, OfASixteenKilobyteEntryIsQuick) {
  constexpr int kHits = 2000;
  const std::size_t overhead =
      encode_entry(make_sample(1, 1).key, make_sample(1, 1).artifact)->size();
  const Sample sample = make_sample(1, 16384 - overhead + 1);
  ASSERT_TRUE(cache_->publish(sample.key, sample.artifact));
  ASSERT_EQ(testing::text_of(path_of(sample)).size(), 16384u);
  std::vector<double> microseconds;
  for (int i = 0; i < kHits; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto found = cache_->find(sample.key, testing::kSampleCompiler);
    const auto end = std::chrono::steady_clock::now();
    ASSERT_TRUE(found);
    microseconds.push_back(std::chrono::duration<double, std::micro>(end - start).count());
  }
  std::ranges::nth_element(microseconds, microseconds.begin() + kHits / 2);
  const double median = microseconds[kHits / 2];
  RecordProperty("median_microseconds", std::to_string(median));
  std::cout << "disk hit of 16 KiB: median " << median << " microseconds\n";
  EXPECT_LT(median, 1000);
}

}  // namespace
}  // namespace diecast
