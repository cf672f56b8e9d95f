// The layout of a cache root, and which directories become one.
#include <diecast/base/text.h>
#include <diecast/cache/cache_directory.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child_process.h"
#include "fake_file_system.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::mode_of;
using testing::TemporaryDirectory;
using testing::text_of;
using testing::tree;
using testing::write_text;

TEST(CacheDirectory, MarksANewRootAndKeepsItPrivate) {
  TemporaryDirectory folder;
  const std::string root = folder / "cache";
  const mode_t old = ::umask(0);
  const auto directory = CacheDirectory::open(system_files(), root);
  ASSERT_TRUE(directory) << directory.error().message();
  EXPECT_TRUE(directory->writable());
  EXPECT_TRUE(directory->shard("nvrtc-1", Digest{0xab00000000000000, 1}, true));
  ::umask(old);
  EXPECT_EQ(tree(root), (std::vector<std::string>{"CACHEDIR.TAG", "DIECAST-CACHE", "v1",
                                                  "v1/nvrtc-1", "v1/nvrtc-1/ab"}));
  for (const char* name : {"", "/v1", "/v1/nvrtc-1", "/v1/nvrtc-1/ab"}) {
    EXPECT_EQ(mode_of(root + name), S_IFDIR | 0700u) << name;
  }
  EXPECT_EQ(mode_of(root + "/DIECAST-CACHE"), S_IFREG | 0600u);
  EXPECT_EQ(text_of(root + "/DIECAST-CACHE"), "diecast cache\nlayout 1\n");
  EXPECT_EQ(text_of(root + "/CACHEDIR.TAG").substr(0, 44),
            "Signature: 8a477f597d28d172789f06886806bc55\n");
}

TEST(CacheDirectory, RefusesAFolderWithOtherThingsInIt) {
  TemporaryDirectory folder;
  write_text(folder / "thesis.tex", "years of work");
  const auto refused = CacheDirectory::open(system_files(), folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            cat("diecast: invalid_argument: the cache root \"", folder.path(),
                "\" holds \"thesis.tex\" and is not marked as a cache of diecast (no file "
                "DIECAST-CACHE)\n  fix: set DIECAST_CACHE to a new or empty directory"));
  EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"thesis.tex"});
  write_text(folder / "DIECAST-CACHE", "");  // marked: whatever else is there is left alone
  EXPECT_TRUE(CacheDirectory::open(system_files(), folder.path()));
  EXPECT_EQ(text_of(folder / "thesis.tex"), "years of work");
}

TEST(CacheDirectory, IsNoneThatCannotBeMarked) {
  TemporaryDirectory folder;
  testing::FakeFileSystem full(testing::FakeFileSystem::refuse("write_at", ENOSPC));
  EXPECT_EQ(CacheDirectory::open(full, folder.path()).error().what,
            cat("cannot create the marker of \"", folder.path(),
                "\": No space left on device (errno 28)"));
}

// Half a signature would tell backup programs nothing, for ever.
TEST(CacheDirectory, OnAFullDiskLeavesNoEmptyTag) {
  TemporaryDirectory folder;
  int writes = 0;  // the marker's goes well, the tag's does not
  testing::FakeFileSystem full([&](const testing::FileCall& call) {
    return testing::FileFault{call.name == "write_at" && ++writes == 2 ? ENOSPC : 0};
  });
  EXPECT_TRUE(CacheDirectory::open(full, folder.path()));
  EXPECT_EQ(tree(folder.path()), (std::vector<std::string>{"DIECAST-CACHE", "v1"}));
}

TEST(CacheDirectory, TakesTheTopOfAnEmptyDisk) {
  TemporaryDirectory folder;
  ASSERT_EQ(::mkdir((folder / "lost+found").c_str(), 0700), 0);
  EXPECT_TRUE(CacheDirectory::open(system_files(), folder.path()));
}

TEST(CacheDirectory, MarksARootAgainThatLostItsMarker) {
  TemporaryDirectory folder;
  ASSERT_TRUE(CacheDirectory::open(system_files(), folder.path()));
  ASSERT_EQ(::unlink((folder / "DIECAST-CACHE").c_str()), 0);
  EXPECT_TRUE(CacheDirectory::open(system_files(), folder.path()));
  EXPECT_TRUE(S_ISREG(mode_of(folder / "DIECAST-CACHE")));
}

// As a scratch disk is cleaned: files that nobody has used lately go, and folders stay.
TEST(CacheDirectory, MarksARootAgainOfWhichACleanerHasLeftEntriesOrFolders) {
  TemporaryDirectory folder;
  const Digest digest{0xab00000000000000, 1};
  const auto directory = CacheDirectory::open(system_files(), folder.path()).value();
  ASSERT_TRUE(directory.shard("nvrtc-1", digest, true));
  const std::string entry = folder / ("v1/nvrtc-1/ab/" + entry_name(digest));
  const std::string others[] = {"v1/nvrtc-1/ab/notes", "v1/nvrtc-1/notes", "v1/notes", "notes"};
  const auto clean = [&] {
    ::unlink((folder / "DIECAST-CACHE").c_str());
    ::unlink((folder / "CACHEDIR.TAG").c_str());
  };
  for (const std::string& left : {entry, folder / "v1/counts", std::string()}) {
    if (!left.empty()) write_text(left, "");
    clean();
    EXPECT_TRUE(CacheDirectory::open(system_files(), folder.path())) << left;
    EXPECT_TRUE(S_ISREG(mode_of(folder / "DIECAST-CACHE"))) << left;
    clean();
    for (const std::string& other : others) {  // somebody's own "v1"
      write_text(folder / other, "years of work");
      EXPECT_FALSE(CacheDirectory::open(system_files(), folder.path())) << other;
      ASSERT_EQ(::unlink((folder / other).c_str()), 0);
    }
    ::unlink(left.c_str());
  }
}

TEST(CacheDirectory, RefusesEntriesThatOthersMayWrite) {
  TemporaryDirectory folder;
  ASSERT_TRUE(CacheDirectory::open(system_files(), folder.path()));
  const std::string versions = folder / "v1";
  ASSERT_EQ(::chmod(versions.c_str(), 0770), 0);
  EXPECT_EQ(CacheDirectory::open(system_files(), folder.path()).error().message(),
            cat("diecast: unsafe_directory: \"", versions,
                "\" belongs to another user or can be written by one: whoever can write there "
                "could run code as this user\n  fix: chmod go-w \"",
                versions, "\" if it is yours, or set DIECAST_CACHE to a new directory"));
}

TEST(CacheDirectory, FollowsNoLinkBelowItsRoot) {
  TemporaryDirectory folder;
  const auto directory = CacheDirectory::open(system_files(), folder / "cache").value();
  const Digest digest{0xab00000000000000, 1};
  ASSERT_TRUE(directory.shard("id", digest, true));
  ASSERT_EQ(::rename((folder / "cache/v1/id/ab").c_str(), (folder / "away").c_str()), 0);
  ASSERT_EQ(::symlink((folder / "away").c_str(), (folder / "cache/v1/id/ab").c_str()), 0);
  EXPECT_FALSE(directory.shard("id", digest, false));
  EXPECT_FALSE(directory.shard("id", digest, true));
  ASSERT_EQ(::symlink((folder / "cache/v1/id").c_str(), (folder / "cache/v1/id2").c_str()), 0);
  EXPECT_FALSE(directory.shard("id2", digest, true));
}

TEST(CacheDirectory, CreatesAFolderAgainThatVanishesBeforeItIsOpened) {
  TemporaryDirectory folder;
  int opened = 0;
  testing::FakeFileSystem files([&](const testing::FileCall& call) {
    // The first opening after the creation finds nothing, as after a collection by another process.
    const bool gone = call.name == "open_at" && call.path == "id" && ++opened == 2;
    return testing::FileFault{gone ? ENOENT : 0};
  });
  const auto directory = CacheDirectory::open(files, folder / "cache").value();
  EXPECT_TRUE(directory.shard("id", Digest{1, 1}, true));
}

// A kernel before 5.6, or a container that hides openat2.
TEST(CacheDirectory, OpensEntriesFolderByFolderWhereTheKernelCannotAtOnce) {
  TemporaryDirectory folder;
  testing::FakeFileSystem old_kernel([](const testing::FileCall& call) {
    const bool steps = call.name == "open_at" && call.path.find('/', 1) != std::string::npos;
    return testing::FileFault{steps ? ENOSYS : 0};
  });
  const CacheDirectory cache = CacheDirectory::open(old_kernel, folder / "cache").value();
  const Digest key{1, 2};
  EXPECT_EQ(cache.entry("nvrtc", key).number(), -ENOENT);  // no folder: a miss, and no trouble
  ASSERT_TRUE(cache.shard("nvrtc", key, true));
  EXPECT_EQ(cache.entry("nvrtc", key).number(), -ENOENT);
  write_text(folder / cat("cache/v1/nvrtc/", shard_name(key), "/", entry_name(key)), "entry");
  EXPECT_TRUE(cache.entry("nvrtc", key));
}

TEST(CacheDirectory, OnlyReadsWhereItMayNotWrite) {
  TemporaryDirectory folder;
  ASSERT_TRUE(CacheDirectory::open(system_files(), folder.path()));
  const auto refuse_writing = [](const testing::FileCall& call) {
    const bool writes = call.name == "make_directory_at" || (call.flags & O_CREAT) != 0;
    return testing::FileFault{writes ? EROFS : 0};
  };
  testing::FakeFileSystem marked(refuse_writing);
  EXPECT_TRUE(CacheDirectory::open(marked, folder.path()).value().versions() >= 0);
  TemporaryDirectory empty;
  testing::FakeFileSystem files(refuse_writing);
  const auto directory = CacheDirectory::open(files, empty.path());
  ASSERT_TRUE(directory) << directory.error().message();
  EXPECT_FALSE(directory->writable());
  EXPECT_EQ(directory->shard("id", Digest{1, 1}, true).number(), -ENOENT);
  EXPECT_TRUE(directory->compilers().empty());
}

TEST(CacheDirectory, ListsIdentitiesLastFirst) {
  TemporaryDirectory folder;
  const auto directory = CacheDirectory::open(system_files(), folder.path()).value();
  for (const char* name : {"nvrtc-12.9", "nvrtc-13.0", "gcc-12", ".hidden", "not an identity"}) {
    ASSERT_EQ(::mkdir((folder / ("v1/" + std::string(name))).c_str(), 0700), 0);
  }
  write_text(folder / "v1/lock", "");
  write_text(folder / "v1/gc", "");
  EXPECT_EQ(directory.compilers(),
            (std::vector<std::string>{"nvrtc-13.0", "nvrtc-12.9", "gcc-12"}));
}

TEST(CompilerIdentity, IsPlainTextThatNamesAFolder) {
  for (const char* good : {"nvrtc-13.0.88-0a1b", "GCC_12.2", "a"}) {
    EXPECT_TRUE(is_compiler_identity(good)) << good;
  }
  EXPECT_TRUE(is_compiler_identity(std::string(100, 'x')));
  EXPECT_FALSE(is_compiler_identity(std::string(101, 'x')));
  for (const std::string_view bad : {"", ".", "..", ".x", "g++", "a/b", "a b", "a\n", "\xc3\xa9",
                                     "lock", "gc", "counts", "../../etc"}) {
    EXPECT_FALSE(is_compiler_identity(bad)) << bad;
  }
  EXPECT_FALSE(is_compiler_identity(std::string_view("a\0b", 3)));
}

TEST(EntryName, IsTheDigestAndNothingElseIsAnEntry) {
  const Digest digest{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(shard_name(digest), "01");
  EXPECT_EQ(entry_name(digest), "0123456789abcdeffedcba9876543210.dce");
  EXPECT_TRUE(is_entry_name(entry_name(digest)));
  EXPECT_TRUE(is_shard_name("0f"));
  for (const char* bad : {"0123456789ABCDEFfedcba9876543210.dce", ".t-0123456789abcdef-12-00000000",
                          "0123456789abcdeffedcba9876543210.dcf", "0123.dce", ".nfs000000"}) {
    EXPECT_FALSE(is_entry_name(bad)) << bad;
  }
  for (const char* bad : {"0", "0G", "abc", "..", "AB"}) EXPECT_FALSE(is_shard_name(bad)) << bad;
}

}  // namespace
}  // namespace diecast
