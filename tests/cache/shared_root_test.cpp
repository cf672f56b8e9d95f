// A root that its owner fills for others, and has not, or not wholly, let them read.
#include <diecast/base/text.h>
#include <diecast/cache/cache_directory.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/disk_cache_fixture.h"
#include "child_process.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::kSampleCompiler;
using testing::make_sample;
using testing::Sample;
using testing::TemporaryDirectory;

class SharedRoot : public testing::DiskCacheTest {};

// The rest is as good as it was: who may read a file says nothing about the disk.
TEST_F(SharedRoot, IsNotLeftAloneForEntriesThatMayNotBeRead) {
  const Sample sample = make_sample(), other = make_sample(5);
  ASSERT_TRUE(cache_->publish(sample.key, sample.artifact));
  ASSERT_TRUE(cache_->publish(other.key, other.artifact));
  const std::string name = entry_name(other.key.digest);
  for (const int error : {EACCES, EPERM}) {
    testing::FakeFileSystem files([&](const testing::FileCall& call) {
      const bool refused = call.name == "open_at" && call.path.ends_with(name);
      return testing::FileFault{refused ? error : 0};
    });
    const auto cache = DiskCache::open(folder_ / "cache", files).value();
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(cache->find(other.key, kSampleCompiler));
    EXPECT_EQ(cache->statistics().rejected, 10u);
    EXPECT_TRUE(cache->find(sample.key, kSampleCompiler));
  }
}

// It would look like one that has nothing.
TEST_F(SharedRoot, IsNoneWhereItsEntriesMayNotBeRead) {
  testing::FakeFileSystem files([](const testing::FileCall& call) {
    return testing::FileFault{call.name == "open_at" && call.path == "." ? EACCES : 0};
  });
  const std::string root = folder_ / "cache";
  for (const RootAccess access : {RootAccess::create, RootAccess::read}) {
    const auto opened = CacheDirectory::open(files, root, access);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message(),
              cat("diecast: io_error: cannot read \"", root,
                  "/v1\": Permission denied (errno 13)\n  fix: `find \"", root,
                  "\" ! -readable` names what may not be read; its owner lets others read all of "
                  "it by `chmod -R a+rX`, after each warming"));
  }
}

// Else nothing damaged would be found in it, and a bundle of it would lack kernels.
TEST_F(SharedRoot, ThatCannotBeListedIsNoEmptyOne) {
  const Sample sample = make_sample();
  ASSERT_TRUE(cache_->publish(sample.key, sample.artifact));
  for (int broken = 1; broken <= 3; ++broken) {  // compilers, two digits, entries
    int listed = 0;
    testing::FakeFileSystem files([&](const testing::FileCall& call) {
      return testing::FileFault{call.name == "list_directory" && ++listed == broken ? EIO : 0};
    });
    const auto cache = DiskCache::open(folder_ / "cache", files).value();
    EXPECT_FALSE(cache->read_all([](const StoredEntry&) {})) << broken;
  }
}

TEST_F(SharedRoot, OfRootIsReadOnceItsEntriesMayBe) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder_ / "cache").c_str(), 0755), 0);
  const auto outcome = [&] {
    return testing::in_child([&] {
      if (!testing::become(testing::kNobody)) return 2;
      return CacheDirectory::open(system_files(), folder_ / "cache", RootAccess::read) ? 0 : 1;
    });
  };
  EXPECT_EQ(outcome(), 1);
  ASSERT_EQ(::chmod((folder_ / "cache/v1").c_str(), 0755), 0);
  EXPECT_EQ(outcome(), 0);
}

}  // namespace
}  // namespace diecast
