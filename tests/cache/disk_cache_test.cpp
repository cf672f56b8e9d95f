// Publishing and finding: what is a hit, what is a miss, and what is counted.
#include <diecast/base/text.h>
#include <diecast/cache/disk_cache.h>
#include <diecast/cache/entry_header.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "cache/disk_cache_fixture.h"
#include "child_process.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::DiskCacheTest;
using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::mode_of;
using testing::same;
using testing::Sample;
using testing::TemporaryDirectory;
using testing::text_of;
using testing::tree;
using testing::write_text;

TEST_F(DiskCacheTest, FindsWhatWasPublishedAndCounts) {
  const Sample one = make_sample(1), two = make_sample(2);
  EXPECT_FALSE(hit(one));
  EXPECT_TRUE(cache_->publish(one.key, one.artifact));
  EXPECT_TRUE(hit(one));
  EXPECT_FALSE(hit(two));
  EXPECT_TRUE(cache_->publish(one.key, one.artifact));  // already there
  const CacheStatistics statistics = cache_->statistics();
  EXPECT_EQ(statistics.hits, 1u);
  EXPECT_EQ(statistics.misses, 2u);
  EXPECT_EQ(statistics.rejected, 0u);
  EXPECT_EQ(statistics.publishes, 1u);
  EXPECT_EQ(statistics.already_there, 1u);
  EXPECT_EQ(statistics.publish_failures, 0u);
  EXPECT_TRUE(DiskCache::open(folder_ / "cache").value()->find(one.key, kSampleCompiler));
}

TEST_F(DiskCacheTest, KeepsEntriesPrivateWhateverTheUmask) {
  const mode_t old = ::umask(0);
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  ::umask(old);
  EXPECT_EQ(mode_of(path_of(sample)), S_IFREG | 0600u);
  EXPECT_EQ(tree(folder_ / "cache").size(), 6u);  // marker, tag, v1, identity, shard, entry
}

TEST_F(DiskCacheTest, KeepsCompilersApartAndTakesAnyWhenAskedWithoutOne) {
  Sample older = make_sample(), newer = make_sample();
  older.artifact.compiler = "nvrtc-12.9";
  newer.artifact.compiler = "nvrtc-13.0";
  newer.artifact.payload[0] ^= std::byte{1};
  EXPECT_TRUE(cache_->publish(older.key, older.artifact));
  EXPECT_FALSE(hit(newer, "nvrtc-13.0"));
  EXPECT_TRUE(hit(older, ""));
  EXPECT_TRUE(cache_->publish(newer.key, newer.artifact));
  EXPECT_TRUE(hit(newer, ""));  // the last name first
  EXPECT_TRUE(hit(older, "nvrtc-12.9"));
  write_text(path_of(newer), "damaged");
  EXPECT_TRUE(hit(older, ""));
  EXPECT_EQ(cache_->statistics().misses, 1u);
}

TEST_F(DiskCacheTest, TakesNoPathForACompiler) {
  const Sample sample = make_sample();
  for (const std::string& bad :
       std::vector<std::string>{"..", "a/b", "", "lock", std::string(101, 'x')}) {
    Artifact artifact = sample.artifact;
    artifact.compiler = bad;
    EXPECT_FALSE(cache_->publish(sample.key, artifact)) << bad;
    EXPECT_FALSE(hit(sample, bad)) << bad;
  }
  EXPECT_EQ(cache_->statistics().publish_failures, 5u);
  EXPECT_EQ(tree(folder_ / "cache").size(), 3u);
}

TEST_F(DiskCacheTest, RefusesAnArtifactThatItsKeyDoesNotName) {
  const Sample sample = make_sample();
  Artifact artifact = sample.artifact;
  artifact.target.suffix = 'f';
  EXPECT_FALSE(cache_->publish(sample.key, artifact));
  EXPECT_EQ(cache_->statistics().publish_failures, 1u);
}

TEST_F(DiskCacheTest, TouchesAnEntryOnceInSixHours) {
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  const std::string path = path_of(sample);
  const std::int64_t now = ::time(nullptr);
  const auto after_hit = [&](std::int64_t seconds) {
    const struct timespec times[2] = {{0, UTIME_OMIT}, {seconds, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    EXPECT_TRUE(hit(sample));
    struct stat status = {};
    ::stat(path.c_str(), &status);
    return std::int64_t{status.st_mtim.tv_sec};
  };
  EXPECT_EQ(after_hit(now - 5 * 3600), now - 5 * 3600);
  EXPECT_GE(after_hit(now - 7 * 3600), now);
  EXPECT_GE(after_hit(0), now);
  EXPECT_LE(after_hit(now + 400 * 86400), now + 60);  // or it would never be the least recent
}

TEST_F(DiskCacheTest, ListsEntriesInOrderAndNothingElse) {
  std::vector<Sample> samples;
  for (int i = 0; i < 20; ++i) {
    samples.push_back(make_sample(i, i == 3 ? 100000 : 100));
    samples.back().artifact.compiler = i % 2 == 0 ? "nvrtc-13.0" : "nvrtc-12.9";
    EXPECT_TRUE(cache_->publish(samples.back().key, samples.back().artifact));
  }
  const std::string shard = path_of(samples[0]).substr(0, path_of(samples[0]).rfind('/'));
  write_text(shard + "/.t-0123456789abcdef-1-00000000", "half");
  write_text(shard + "/.nfs0001", "left by a network file system");
  write_text(shard + "/" + std::string(32, 'f') + ".dce", text_of(path_of(samples[0])));
  write_text(path_of(samples[1]), "damaged");
  const auto list = cache_->list().value();
  ASSERT_EQ(list.size(), 19u);
  for (std::size_t i = 1; i < list.size(); ++i) {
    EXPECT_LT(std::tie(list[i - 1].compiler, list[i - 1].digest),
              std::tie(list[i].compiler, list[i].digest));
  }
  EXPECT_EQ(list[0].compiler, "nvrtc-12.9");
  EXPECT_EQ(list.back().compiler, "nvrtc-13.0");
  const auto large = std::ranges::find(list, samples[3].key.digest, &EntrySummary::digest);
  ASSERT_NE(large, list.end());
  EXPECT_EQ(large->spelling, samples[3].artifact.spelling);
  EXPECT_EQ(large->file_bytes, text_of(path_of(samples[3])).size());
  EXPECT_NEAR(static_cast<double>(large->used_seconds), static_cast<double>(::time(nullptr)), 60);
}

TEST_F(DiskCacheTest, MakesARemovedRootAgainAtMostOnceAMinute) {
  testing::FakeFileSystem files;
  const auto cache = DiskCache::open(folder_ / "cache", files).value();
  const Sample sample = make_sample();
  const auto publish = [&] { return cache->publish(sample.key, sample.artifact); };
  std::filesystem::remove_all(folder_ / "cache");
  EXPECT_FALSE(cache->find(sample.key, kSampleCompiler));
  EXPECT_FALSE(publish());  // sees the loss, and mends it
  EXPECT_TRUE(publish());
  EXPECT_TRUE(cache->find(sample.key, kSampleCompiler));
  std::filesystem::remove_all(folder_ / "cache");
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(publish());
  files.clock_offset = 61;
  EXPECT_FALSE(publish());
  EXPECT_TRUE(publish());
  EXPECT_TRUE(cache->find(sample.key, kSampleCompiler));
}

// As by a `cache clear` of another process, while the entry's data is synced.
TEST_F(DiskCacheTest, PublishesWhereItsEmptyFolderIsRemovedMeanwhile) {
  const Sample sample = make_sample();
  const std::filesystem::path shard = std::filesystem::path(path_of(sample)).parent_path();
  for (const bool compiler_too : {false, true}) {
    bool removed = false;
    FakeFileSystem files([&](const FileCall& call) {
      if (call.name == "sync_data" && !removed) {
        removed = std::filesystem::remove(shard);
        if (compiler_too) std::filesystem::remove(shard.parent_path());
      }
      return FileFault{};
    });
    const auto cache = DiskCache::open(folder_ / "cache", files).value();
    EXPECT_TRUE(cache->publish(sample.key, sample.artifact));
    EXPECT_TRUE(removed);
    EXPECT_EQ(cache->statistics().publish_failures, 0u);
    EXPECT_TRUE(hit(sample));
    const auto unnamed = std::ranges::count(files.names(), "link_descriptor");
    EXPECT_EQ(unnamed, testing::has_unnamed_files(folder_.path()) ? 2 : 0);  // it is gone on with
    std::filesystem::remove_all(shard.parent_path());
  }
}

TEST_F(DiskCacheTest, IsReadByAUserWhoMayNotWriteIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  for (const auto& name : tree(folder_.path())) {
    const std::string path = folder_ / name;
    ASSERT_EQ(::chmod(path.c_str(), S_ISDIR(mode_of(path)) ? 0755 : 0644), 0);
  }
  EXPECT_EQ(testing::in_child([&] {
              if (!testing::become(testing::kNobody)) return 2;
              const auto opened = DiskCache::open(folder_ / "cache");
              if (!opened) return 3;
              DiskCache& cache = **opened;
              const auto found = cache.find(sample.key, kSampleCompiler);
              if (!found || !same(*found, sample.artifact)) return 4;
              if (cache.lock(sample.key, std::chrono::seconds(5), {}).held()) return 5;
              const Sample other = make_sample(9);
              return cache.publish(other.key, other.artifact) ? 6 : 0;
            }),
            0);
}

// An empty folder of another user: nothing of a cache is there, and nothing can be made.
TEST_F(DiskCacheTest, SaysWhyAnEmptyRootCannotBeWritten) {
  ASSERT_EQ(::mkdir((folder_ / "empty").c_str(), 0700), 0);
  for (const int error : {EACCES, EROFS}) {
    FakeFileSystem files([&](const FileCall& call) {
      const bool makes = (call.flags & O_CREAT) != 0 || call.name == "make_directory_at";
      return FileFault{call.name != "rename_at" && makes ? error : 0};
    });
    const auto cache = DiskCache::open(folder_ / "empty", files).value();
    EXPECT_FALSE(cache->writable());
    EXPECT_EQ(cache->check_writing().error().message(),
              file_error("write to", folder_ / "empty", -error).message());
  }
}

TEST(DefaultRoot, ComesFromTheEnvironmentAndIsNeverRelative) {
  const auto root = [](const char* cache, const char* home) {
    cache != nullptr ? ::setenv("XDG_CACHE_HOME", cache, 1) : ::unsetenv("XDG_CACHE_HOME");
    home != nullptr ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
    return DiskCache::default_root();
  };
  const char* home = ::getenv("HOME");
  const std::string kept = home != nullptr ? home : "";
  EXPECT_EQ(root("/x", "/home/u"), "/x/diecast");
  EXPECT_EQ(root(nullptr, "/home/u"), "/home/u/.cache/diecast");
  EXPECT_EQ(root("relative", "/home/u"), "/home/u/.cache/diecast");
  EXPECT_EQ(root("", "home"), "");
  EXPECT_EQ(root(nullptr, nullptr), "");
  ::setenv("HOME", kept.c_str(), 1);
}

// P-17, E-07: the name is taken, says the file system, and nobody here can see who has it: a
// collector removed it meanwhile, or it is another node's and not shown yet.
TEST_F(DiskCacheTest, BelievesThatAnEntryIsThereWithoutLookingAtIt) {
  const Sample sample = make_sample(3);
  for (const bool unnamed : {true, false}) {
    const std::string naming = unnamed ? "link_descriptor" : "rename_at";
    FakeFileSystem files([&](const FileCall& call) {
      const bool lacks =
          !unnamed && call.name == "open_at" && (call.flags & O_TMPFILE) == O_TMPFILE;
      return FileFault{call.name == naming ? EEXIST : lacks ? EOPNOTSUPP : 0};
    });
    const auto cache = DiskCache::open(folder_ / "cache", files).value();
    EXPECT_FALSE(cache->find(sample.key, kSampleCompiler));
    EXPECT_TRUE(cache->publish(sample.key, sample.artifact));
    EXPECT_EQ(cache->statistics().already_there, 1u);
    EXPECT_EQ(cache->statistics().publish_failures, 0u);
    const auto names = files.names();
    const auto named = std::ranges::find(names, naming);
    ASSERT_NE(named, names.end());
    for (const char* looks : {"open_at", "read_at", "status_at", "list_directory"}) {
      EXPECT_EQ(std::find(named, names.end(), looks), names.end()) << looks;
    }
    EXPECT_FALSE(cache->find(sample.key, kSampleCompiler));  // a miss, and no wait
  }
}

// A network file system loses the handle of a file that was replaced: it is opened once more,
// whoever looks.
TEST_F(DiskCacheTest, OpensAnEntryAgainWhoseHandleWasLost) {
  const Sample sample = make_sample();
  ASSERT_TRUE(cache_->publish(sample.key, sample.artifact));
  bool lost = false;
  FakeFileSystem files([&](const FileCall& call) {
    const bool opens = call.name == "open_at" && call.path.ends_with(".dce");
    return FileFault{opens && !std::exchange(lost, true) ? ESTALE : 0};
  });
  const auto cache = DiskCache::open(folder_ / "cache", files).value();
  EXPECT_TRUE(cache->find(sample.key, kSampleCompiler));
  lost = false;
  EXPECT_EQ(cache->list().value().size(), 1u);
  lost = false;
  std::vector<EntryFault> read;
  ASSERT_TRUE(
      cache->read_all([&](const StoredEntry& stored) { read.push_back(stored.decoded.fault); }));
  EXPECT_EQ(read, std::vector{EntryFault::none});
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace diecast
