// A cache in a folder of its own, and questions to it.
#pragma once

#include <diecast/base/text.h>
#include <diecast/cache/disk_cache.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cache/sample_artifact.h"
#include "temporary_directory.h"

namespace diecast::testing {

class DiskCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { cache_ = DiskCache::open(folder_ / "cache").value(); }

  std::string path_of(const Sample& sample) const {
    const std::string hex = sample.key.hex();
    return folder_ /
           cat("cache/v1/", sample.artifact.compiler, "/", hex.substr(0, 2), "/", hex, ".dce");
  }
  bool hit(const Sample& sample, const std::string& compiler = kSampleCompiler) {
    const auto found = cache_->find(sample.key, compiler);
    if (found) {
      EXPECT_TRUE(same(*found, sample.artifact));
    }
    return found.has_value();
  }
  std::uint64_t faults(EntryFault fault) const {
    return cache_->statistics().faults[static_cast<std::size_t>(fault)];
  }

  TemporaryDirectory folder_;
  std::unique_ptr<DiskCache> cache_;
};

}  // namespace diecast::testing
