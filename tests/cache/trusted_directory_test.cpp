// Which directories code is run from, with the whole text of each refusal.
#include <diecast/base/text.h>
#include <diecast/cache/bundle.h>
#include <diecast/cache/disk_cache.h>
#include <diecast/cache/trusted_directory.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child_process.h"
#include "fake_file_system.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::in_child;
using testing::kNobody;
using testing::mode_of;
using testing::TemporaryDirectory;
using testing::tree;

#define NEEDS_ROOT() \
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user"

class TrustedDirectory : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0); }  // others get here
  Result<Descriptor> open(const std::string& path) {
    return open_trusted_directory(system_files(), path);
  }
  std::string refusal(const std::string& path) {
    const Result<Descriptor> result = open(path);
    return result ? "accepted" : result.error().message();
  }
  std::string make(const std::string& name, mode_t mode) {
    const std::string path = folder_ / name;
    ::mkdir(path.c_str(), 0700);
    ::chmod(path.c_str(), mode);  // mkdir's would lose what the umask takes
    return path;
  }
  TemporaryDirectory folder_;
};

TEST_F(TrustedDirectory, CreatesTwoLevelsForItsOwnerAloneAndNoMore) {
  const mode_t old = ::umask(0);
  EXPECT_TRUE(open(folder_ / "cache/diecast"));
  ::umask(old);
  EXPECT_EQ(mode_of(folder_ / "cache"), S_IFDIR | 0700u);
  EXPECT_EQ(mode_of(folder_ / "cache/diecast"), S_IFDIR | 0700u);
  const std::string top = folder_ / "mistyped";
  EXPECT_EQ(refusal(top + "/cache/diecast"),
            cat("diecast: file_not_found: cannot open \"", top,
                "\": No such file or directory (errno 2)\n  fix: make \"", top,
                "\" (of a cache root only the last two folders are created), or set DIECAST_CACHE "
                "to another path"));
  // What the fix says is enough, however many folders are missing.
  const std::string deep = top + "/a/b";
  EXPECT_NE(refusal(deep + "/cache/diecast").find(cat("fix: make \"", deep, "\" (of a cache root")),
            std::string::npos)
      << refusal(deep + "/cache/diecast");
  EXPECT_EQ(tree(folder_.path()), (std::vector<std::string>{"cache", "cache/diecast"}));
  ASSERT_TRUE(std::filesystem::create_directories(deep));
  EXPECT_TRUE(open(deep + "/cache/diecast"));
  // Nothing of what a link names is created.
  const std::string named = folder_ / "b/c/d", link = folder_ / "link";
  std::filesystem::create_symlink(named, link);
  EXPECT_NE(refusal(link + "/cache/diecast").find(cat("fix: make \"", named, "\"")),
            std::string::npos)
      << refusal(link + "/cache/diecast");
  ASSERT_TRUE(std::filesystem::create_directories(named));
  EXPECT_TRUE(open(link + "/cache/diecast"));
}

TEST_F(TrustedDirectory, TakesAbsolutePathsOnly) {
  const std::string fix =
      "\n  fix: set DIECAST_CACHE to the absolute path of a directory for the cache alone";
  EXPECT_EQ(refusal(""), "diecast: invalid_argument: the cache root \"\" is empty" + fix);
  EXPECT_EQ(
      refusal("cache/here"),
      "diecast: invalid_argument: the cache root \"cache/here\" is not an absolute path" + fix);
  EXPECT_EQ(refusal("~/cache"),
            "diecast: invalid_argument: the cache root \"~/cache\" is not an absolute path" + fix);
  EXPECT_EQ(
      refusal("//./"),
      "diecast: invalid_argument: the cache root \"//./\" is the root of the file system" + fix);
  EXPECT_EQ(open(std::string("/tmp\0/x", 7)).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(open(folder_.path() + "//a/./b/"));
  EXPECT_TRUE(open(folder_.path() + "/a/../a"));
  EXPECT_EQ(tree(folder_.path()), (std::vector<std::string>{"a", "a/b"}));
}

TEST_F(TrustedDirectory, RefusesARootThatOthersMayWriteAndChangesNothing) {
  const std::string open_to_all = make("all", 0777), group = make("group", 0770),
                    sticky = make("sticky", 01777);
  EXPECT_EQ(refusal(open_to_all),
            cat("diecast: unsafe_directory: the cache root \"", open_to_all,
                "\" can be written by everybody (mode 777): whoever does could run code as this "
                "user\n  fix: chmod 700 ",
                open_to_all, ", or set DIECAST_CACHE to a directory that only you can write"));
  EXPECT_EQ(refusal(group),
            cat("diecast: unsafe_directory: the cache root \"", group,
                "\" can be written by its group (mode 770): whoever does could run code as this "
                "user\n  fix: chmod 700 ",
                group, ", or set DIECAST_CACHE to a directory that only you can write"));
  EXPECT_EQ(refusal(sticky),  // as /tmp: closing it would take it from everybody
            cat("diecast: unsafe_directory: the cache root \"", sticky,
                "\" can be written by everybody (mode 777): whoever does could run code as this "
                "user\n  fix: set DIECAST_CACHE to a directory that only you can write"));
  EXPECT_EQ(mode_of(open_to_all), S_IFDIR | 0777u);
  EXPECT_EQ(mode_of(group), S_IFDIR | 0770u);
  ASSERT_EQ(::chmod(open_to_all.c_str(), 0700), 0);  // the fix is one
  EXPECT_TRUE(open(open_to_all));
}

TEST_F(TrustedDirectory, RefusesADirectoryAboveThatOthersMayWriteUnlessSticky) {
  const std::string above = make("above", 0777), root = above + "/cache";
  EXPECT_EQ(
      refusal(root),
      cat("diecast: unsafe_directory: the directory \"", above, "\" above the cache root \"", root,
          "\" can be written by everybody (mode 777): whoever does could run code as this "
          "user\n  fix: chmod go-w ",
          above, ", or set DIECAST_CACHE to a directory that only you can write"));
  EXPECT_TRUE(tree(above).empty());
  ASSERT_EQ(::chmod(above.c_str(), 01777), 0);
  EXPECT_TRUE(open(root));
}

// A umask of 002 makes ~/.cache with mode 775: below a home of mode 700 nobody else gets to it.
TEST_F(TrustedDirectory, TakesWhatOthersMayWriteWhereNobodyElsePasses) {
  const std::string home = make("home", 0700), cache = make("home/.cache", 0775),
                    root = make("home/.cache/diecast", 0775);
  EXPECT_TRUE(open(root));
  EXPECT_TRUE(open(make("home/all", 0777)));
  ASSERT_EQ(::symlink(root.c_str(), (folder_ / "link").c_str()), 0);
  EXPECT_TRUE(open(folder_ / "link"));  // its text leads through the home
  for (const mode_t passed : {0710, 0701, 0755}) {
    ASSERT_EQ(::chmod(home.c_str(), passed), 0);
    EXPECT_EQ(refusal(root),
              cat("diecast: unsafe_directory: the directory \"", cache,
                  "\" above the cache root \"", root,
                  "\" can be written by its group (mode 775): whoever does could run code as this "
                  "user\n  fix: chmod go-w ",
                  cache, ", or set DIECAST_CACHE to a directory that only you can write"));
  }
  ASSERT_EQ(::chmod(home.c_str(), 0744), 0);  // who may list it does not pass
  EXPECT_TRUE(open(root));
}

TEST_F(TrustedDirectory, RefusesWhatOthersMayWriteOutsideOfWhatNobodyElsePasses) {
  make("home", 0700);
  const std::string outside = make("outside", 0775);
  EXPECT_EQ(open(folder_ / "home/../outside").error().code, ErrorCode::unsafe_directory);
  ASSERT_EQ(::symlink(outside.c_str(), (folder_ / "home/whole").c_str()), 0);
  ASSERT_EQ(::symlink("../outside", (folder_ / "home/up").c_str()), 0);
  EXPECT_EQ(open(folder_ / "home/whole").error().code, ErrorCode::unsafe_directory);
  EXPECT_EQ(open(folder_ / "home/up").error().code, ErrorCode::unsafe_directory);
  ASSERT_EQ(::chmod((folder_ / "home").c_str(), 0770), 0);
  EXPECT_EQ(open(folder_ / "home").error().code, ErrorCode::unsafe_directory);
}

TEST_F(TrustedDirectory, QuotesAPathThatAShellWouldTakeApart) {
  const std::string path = make("a b\n$(c)", 0777);
  EXPECT_NE(refusal(path).find("chmod 700 \"" + folder_.path() + "/a b\\x0a$(c)\""),
            std::string::npos)
      << refusal(path);
}

TEST_F(TrustedDirectory, RefusesARootOrADirectoryAboveOfAnotherUser) {
  NEEDS_ROOT();
  const std::string above = make("above", 0755), root = above + "/cache";
  ASSERT_EQ(::mkdir(root.c_str(), 0700), 0);
  ASSERT_EQ(::chown(root.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(refusal(root),
            cat("diecast: unsafe_directory: the cache root \"", root,
                "\" belongs to uid 65534, neither to root nor to this process (uid 0): its owner "
                "could run code as this user\n  fix: chown 0 ",
                root, ", or set DIECAST_CACHE to a directory of your own"));
  ASSERT_EQ(::chown(root.c_str(), 0, 0), 0);
  EXPECT_TRUE(open(root));
  ASSERT_EQ(::chown(above.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(
      refusal(root),
      cat("diecast: unsafe_directory: the directory \"", above, "\" above the cache root \"", root,
          "\" belongs to uid 65534, neither to root nor to this process (uid 0): its owner "
          "could run code as this user\n  fix: chown 0 ",
          above, ", or set DIECAST_CACHE to a directory of your own"));
}

TEST_F(TrustedDirectory, FollowsItsOwnersLinksAndJudgesWhereTheyLead) {
  const std::string real = make("real", 0700), link = folder_ / "link", bad = make("bad", 0777);
  ASSERT_EQ(::symlink("real", link.c_str()), 0);
  EXPECT_TRUE(open(link));
  EXPECT_TRUE(open(link + "/below"));
  EXPECT_TRUE(S_ISDIR(mode_of(real + "/below")));
  ASSERT_EQ(::symlink(bad.c_str(), (folder_ / "to-bad").c_str()), 0);
  EXPECT_EQ(open(folder_ / "to-bad").error().code, ErrorCode::unsafe_directory);
  EXPECT_EQ(open(folder_ / "to-bad/below").error().code, ErrorCode::unsafe_directory);
  ASSERT_EQ(::symlink("../../../../../../tmp", (folder_ / "up").c_str()), 0);
  EXPECT_EQ(open(folder_ / "up").error().code, ErrorCode::unsafe_directory);  // /tmp itself
}

TEST_F(TrustedDirectory, CreatesNothingWhereALinkLeads) {
  ASSERT_EQ(::symlink("nowhere", (folder_ / "dangling").c_str()), 0);
  EXPECT_EQ(open(folder_ / "dangling").error().code, ErrorCode::file_not_found);
  ASSERT_EQ(::symlink("loop", (folder_ / "loop").c_str()), 0);
  EXPECT_EQ(open(folder_ / "loop").error().code, ErrorCode::io_error);
  EXPECT_EQ(tree(folder_.path()), (std::vector<std::string>{"dangling", "loop"}));
}

TEST_F(TrustedDirectory, RefusesALinkOfAnotherUser) {
  NEEDS_ROOT();
  const std::string real = make("real", 0700), link = folder_ / "link";
  ASSERT_EQ(::symlink(real.c_str(), link.c_str()), 0);
  ASSERT_EQ(::lchown(link.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(refusal(link),
            cat("diecast: unsafe_directory: the symbolic link \"", link,
                "\" belongs to uid 65534, neither to root nor to this process (uid 0): its owner "
                "could run code as this user\n  fix: chown -h 0 ",
                link, ", or set DIECAST_CACHE to a directory of your own"));
}

TEST_F(TrustedDirectory, RefusesWhatIsNoDirectory) {
  testing::write_text(folder_ / "file", "");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const char* name : {"file", "fifo", "file/below", "fifo/below"}) {
    EXPECT_EQ(open(folder_ / name).error().code, ErrorCode::file_not_found) << name;
  }
  const std::string fix =
      "\n  fix: name a directory as rw:PATH or ro:PATH, a bundle's file as bundle:PATH";
  const std::string file = folder_ / "file";
  EXPECT_EQ(refusal(file),
            cat("diecast: file_not_found: the cache root \"", file, "\" is a file", fix));
  const auto folder = open_trusted_file(system_files(), folder_.path());
  EXPECT_EQ(folder.error().message(), cat("diecast: file_not_found: the bundle \"", folder_.path(),
                                          "\" is a directory", fix));
  const std::string endless = folder_ / std::string(300, 'n');
  EXPECT_EQ(open(endless).error().code, ErrorCode::io_error);
}

TEST_F(TrustedDirectory, TakesPathsLongerThanTheSystemTakesAtOnce) {
  std::string path = folder_.path();
  for (int i = 0; i < 50; ++i) {
    path += "/" + std::string(100, 'd');
    ASSERT_TRUE(open(path)) << i;
  }
  EXPECT_GT(path.size(), 4096u);
}

TEST_F(TrustedDirectory, IsRefusedToAProcessWithMoreRightsThanItsUser) {
  EXPECT_TRUE(check_own_rights());
  NEEDS_ROOT();
  const auto refused = [](const auto& result) {
    return !result && result.error().message() ==
                          "diecast: unsafe_directory: the disk cache is off in a process "
                          "with more rights than its user (uid 65534, effective uid 0): "
                          "set-user-id, set-group-id or file capabilities\n  fix: run the "
                          "program without them, or set DIECAST_CACHE=off";
  };
  EXPECT_EQ(
      in_child([&] {
        if (::setresuid(kNobody, 0, 0) != 0) return 2;
        for (const RootAccess access : {RootAccess::create, RootAccess::read}) {
          if (!refused(DiskCache::open(folder_.path(), system_files(), access))) return 1;
        }
        return refused(Bundle::open(folder_ / "kernels.dcb", std::nullopt, system_files())) ? 0 : 1;
      }),
      0);
}

TEST_F(TrustedDirectory, IsAnErrorWhicheverCallFails) {
  for (const int error : {EIO, EACCES, EMFILE}) {
    bool finished = false;
    for (int n = 1; !finished; ++n) {
      TemporaryDirectory folder(testing::memory_directory());
      const std::size_t descriptors = testing::open_descriptors();
      testing::FakeFileSystem files(testing::FakeFileSystem::fail_from(n, error, false));
      const bool opened = open_trusted_directory(files, folder / "cache/diecast").ok();
      finished = !files.refused();
      // A failed close of a descriptor that only named a directory loses nothing.
      EXPECT_EQ(opened, finished || files.log()[static_cast<std::size_t>(n - 1)].name == "close");
      EXPECT_EQ(testing::open_descriptors(), descriptors);
    }
  }
}

}  // namespace
}  // namespace diecast
