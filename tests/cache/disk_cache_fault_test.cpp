// Every call of an operation is failed in turn, with many errors, once or from then on. Whatever
// happens: a hit is the exact artifact, else it is a miss; nothing is left open or lying about; and
// the next healthy process publishes and finds as if nothing had been.
#include <diecast/base/text.h>
#include <diecast/cache/disk_cache.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "cache/sample_artifact.h"
#include "fake_file_system.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::open_descriptors;
using testing::same;
using testing::Sample;
using testing::TemporaryDirectory;
using testing::tree;

constexpr int kErrors[] = {EIO,    ENOSPC, EDQUOT,     EACCES, EPERM,  EROFS,  EINVAL, EEXIST,
                           ENOENT, ENOSYS, EOPNOTSUPP, ESTALE, EMFILE, ENOLCK, EINTR,  EAGAIN};

enum class State { no_root, empty, published, damaged };

struct Operation {
  const char* name;
  State state;                 // of the cache before it
  FakeFileSystem::Rule lacks;  // what the file system cannot do at all
  std::function<void(DiskCache&, const Sample&)> run;
};

void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

void find(DiskCache& cache, const Sample& sample) {
  const auto found = cache.find(sample.key, kSampleCompiler);
  EXPECT_TRUE(!found || same(*found, sample.artifact));
}

void publish_and_find(DiskCache& cache, const Sample& sample) {
  cache.publish(sample.key, sample.artifact);
  find(cache, sample);
}

void find_and_publish(DiskCache& cache, const Sample& sample) {
  find(cache, sample);
  cache.publish(sample.key, sample.artifact);
  const auto found = cache.find(sample.key, "");
  EXPECT_TRUE(!found || same(*found, sample.artifact));
}

void lock_and_list(DiskCache& cache, const Sample& sample) {
  DiskCache::Lock lock = cache.lock(sample.key, std::chrono::milliseconds(1), {});
  lock = DiskCache::Lock();
  const auto list = cache.list();
  EXPECT_TRUE(!list || list->size() <= 1);
}

void prune_and_clear(DiskCache& cache, const Sample&) {
  PruneLimits limits;
  limits.bytes = 1;
  limits.young = std::chrono::seconds(0);
  const auto pruned = cache.prune(limits);
  EXPECT_TRUE(!pruned || pruned->removed <= 1);
  if (!pruned) {
    EXPECT_FALSE(pruned.error().fix.empty());
  }
  (void)cache.clear();
}

void read_everything(DiskCache& cache, const Sample& sample) {
  const auto read = cache.read_all([&](const StoredEntry& stored) {
    EXPECT_TRUE(stored.decoded.fault != EntryFault::none ||
                same(stored.decoded.artifact, sample.artifact));
  });
  if (!read) {
    EXPECT_FALSE(read.error().fix.empty());
  }
}

void add_counts(DiskCache& cache, const Sample&) {
  const std::uint64_t before = cache.counts()["hits"];
  const bool added = cache.add_counts({{"hits", 2}});
  const std::uint64_t after = cache.counts()["hits"];
  EXPECT_TRUE(after == before + (added ? 2 : 0) || after == 0) << before << ", " << after;
}

FakeFileSystem::Rule lacking(bool unnamed, bool noreplace) {
  return [=](const FileCall& call) {
    const bool lacks =
        (unnamed && call.name == "open_at" && (call.flags & O_TMPFILE) == O_TMPFILE) ||
        (noreplace && call.name == "rename_at" && call.flags != 0);
    return FileFault{lacks ? EINVAL : 0};
  };
}

std::string root_of(const TemporaryDirectory& folder) { return folder / "cache"; }

void prepare(const TemporaryDirectory& folder, State state, const Sample& sample) {
  if (state == State::no_root) return;
  const auto cache = DiskCache::open(root_of(folder)).value();
  if (state == State::empty) return;
  ASSERT_TRUE(cache->publish(sample.key, sample.artifact));
  const std::string hex = sample.key.hex();
  const std::string path =
      cat(root_of(folder), "/v1/", kSampleCompiler, "/", hex.substr(0, 2), "/", hex, ".dce");
  if (state == State::damaged) testing::write_text(path, "damaged");
  const struct timespec old[2] = {{0, UTIME_OMIT}, {1000, 0}};  // to be touched
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
}

bool has_temporary(const std::string& root) {
  return std::ranges::any_of(
      tree(root), [](const std::string& name) { return name.find("/.t-") != std::string::npos; });
}

// True when the operation ended without meeting the fault.
bool survives(const Operation& operation, int n, int error, bool sticky, const Sample& sample) {
  TemporaryDirectory folder(testing::memory_directory());
  prepare(folder, operation.state, sample);
  const std::size_t descriptors = open_descriptors();
  const FakeFileSystem::Rule fault = FakeFileSystem::fail_from(n, error, sticky);
  bool met = false;
  FakeFileSystem files(FakeFileSystem::both(
      [&](const FileCall& call) {
        const FileFault hit = fault(call);
        met = met || hit.error != 0;
        return hit;
      },
      operation.lacks));
  if (const auto cache = DiskCache::open(root_of(folder), files)) {
    operation.run(**cache, sample);
  } else {
    EXPECT_TRUE(met) << cache.error().message();
    EXPECT_FALSE(cache.error().fix.empty());
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  if (std::filesystem::exists(root_of(folder)) && !files.refused("unlink_at")) {
    EXPECT_FALSE(has_temporary(root_of(folder)));
  }
  const auto healthy = DiskCache::open(root_of(folder));
  EXPECT_TRUE(healthy) << healthy.error().message();
  if (!healthy) return !met;
  find(**healthy, sample);
  EXPECT_TRUE((*healthy)->publish(sample.key, sample.artifact));
  EXPECT_TRUE((*healthy)->find(sample.key, kSampleCompiler));
  return !met;
}

class DiskCacheFaults : public ::testing::TestWithParam<Operation> {};

TEST_P(DiskCacheFaults, AreMissesWhicheverCallFails) {
  const Sample sample = make_sample(1, 300);
  int cases = 0;
  for (const int error : kErrors) {
    for (const bool sticky : {false, true}) {
      bool finished = false;
      for (int n = 1; !finished; ++n) {
        SCOPED_TRACE(cat(GetParam().name, ", call ", n, ", errno ", error, sticky ? " on" : ""));
        finished = survives(GetParam(), n, error, sticky, sample);
        ++cases;
        ASSERT_FALSE(HasFailure());
        ASSERT_LT(n, 200);
      }
    }
  }
  RecordProperty("cases", cases);
  EXPECT_GT(cases, 300);
}

INSTANTIATE_TEST_SUITE_P(
    Operations, DiskCacheFaults,
    ::testing::Values(
        Operation{"first_publish", State::no_root, lacking(false, false), publish_and_find},
        Operation{"publish", State::empty, lacking(false, false), publish_and_find},
        Operation{"publish_by_rename", State::empty, lacking(true, false), publish_and_find},
        Operation{"publish_by_link", State::empty, lacking(true, true), publish_and_find},
        Operation{"publish_again", State::published, lacking(false, false), find_and_publish},
        Operation{"replace", State::damaged, lacking(false, false), find_and_publish},
        Operation{"lock_and_list", State::published, lacking(false, false), lock_and_list},
        Operation{"prune", State::published, lacking(false, false), prune_and_clear},
        Operation{"read_all", State::published, lacking(false, false), read_everything},
        Operation{"counts", State::published, lacking(false, false), add_counts}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace diecast
