// Files that appear whole: the old text or the new one, whichever call fails.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_file_system.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;
using testing::mode_of;
using testing::open_descriptors;
using testing::TemporaryDirectory;
using testing::text_of;
using testing::tree;
using testing::write_text;

Result<void> write_atomically(FileSystem& files, const std::string& path, std::string_view text) {
  DIECAST_TRY(AtomicFile file, AtomicFile::create(files, path));
  DIECAST_CHECK(file.reserve(text.size() + 100));
  DIECAST_CHECK(file.write(as_bytes(text.substr(0, 4))));
  DIECAST_CHECK(file.write(as_bytes(text.substr(4))));
  DIECAST_CHECK(file.write_at(as_bytes("!"), 0));
  return file.commit();
}

TEST(AtomicFile, AppearsWholeOnCommitAndKeepsTheOldPermissions) {
  TemporaryDirectory folder;
  const std::string path = folder / "out";
  ASSERT_TRUE(write_atomically(system_files(), path, "first text"));
  EXPECT_EQ(text_of(path), "!irst text");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(write_atomically(system_files(), path, "second"));
  EXPECT_EQ(text_of(path), "!econd");
  EXPECT_EQ(mode_of(path), S_IFREG | 0640u);
  EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"out"});
}

// A file system without unnamed files.
FakeFileSystem::Rule without_unnamed() {
  return [](const FileCall& call) {
    const bool unnamed = (call.flags & O_TMPFILE) == O_TMPFILE;
    return FileFault{call.name == "open_at" && unnamed ? EOPNOTSUPP : 0};
  };
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  TemporaryDirectory folder;
  {
    AtomicFile file = AtomicFile::create(system_files(), folder / "out").value();
    AtomicFile moved = std::move(file);
    ASSERT_TRUE(moved.write(as_bytes("half")));
  }
  EXPECT_TRUE(tree(folder.path()).empty());
}

TEST(AtomicFile, HasNoNameBeforeCommit) {
  TemporaryDirectory folder;
  if (!testing::has_unnamed_files(folder.path())) GTEST_SKIP() << "no unnamed files here";
  AtomicFile file = AtomicFile::create(system_files(), folder / "out").value();
  ASSERT_TRUE(file.write(as_bytes("half")));
  EXPECT_TRUE(tree(folder.path()).empty());  // a kill here leaves nothing
}

// A file system may take the sync of a file that has no name for one that need not last.
TEST(AtomicFile, IsSyncedOnceMoreWhenItHasAName) {
  TemporaryDirectory folder;
  if (!testing::has_unnamed_files(folder.path())) GTEST_SKIP() << "no unnamed files here";
  FakeFileSystem files;
  ASSERT_TRUE(write_atomically(files, folder / "out", "some text"));
  std::vector<std::string> order = files.names();
  std::erase_if(order, [](const std::string& name) {
    return !name.starts_with("sync") && name != "link_descriptor" && name != "rename_at";
  });
  EXPECT_EQ(order, (std::vector<std::string>{"sync_all", "link_descriptor", "sync_all", "rename_at",
                                             "sync_all"}));
}

TEST(AtomicFile, IsASiblingWhereThereAreNoUnnamedFiles) {
  TemporaryDirectory folder;
  FakeFileSystem files(without_unnamed());
  {
    AtomicFile file = AtomicFile::create(files, folder / "out").value();
    const std::vector<std::string> names = tree(folder.path());
    ASSERT_EQ(names.size(), 1u);
    EXPECT_EQ(names[0].substr(0, 17), ".out.diecast-tmp-");
  }
  EXPECT_TRUE(tree(folder.path()).empty());
  ASSERT_TRUE(write_atomically(files, folder / "out", "some text"));
  EXPECT_EQ(text_of(folder / "out"), "!ome text");
  EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"out"});
}

// A writer that is killed, where there are no unnamed files.
void left_by_a_killed_writer(const TemporaryDirectory& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    FakeFileSystem files(without_unnamed());
    AtomicFile file = AtomicFile::create(files, folder / "out").value();
    if (file.write(as_bytes("half"))) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

void age(const std::string& path, std::int64_t seconds) {
  const timespec then = {::time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

TEST(AtomicFile, ANextWriterRemovesWhatKilledOnesLeftAnHourAgo) {
  TemporaryDirectory folder;
  FakeFileSystem files(without_unnamed());
  for (int i = 0; i < 2; ++i) left_by_a_killed_writer(folder);
  const std::vector<std::string> left = tree(folder.path());
  ASSERT_EQ(left.size(), 2u);
  for (const std::string& name : left) {
    EXPECT_EQ(name.substr(0, 17), ".out.diecast-tmp-");
    age(folder / name, 3500);
  }
  ASSERT_TRUE(write_atomically(files, folder / "other", "text"));
  EXPECT_EQ(tree(folder.path()), (std::vector<std::string>{left[0], left[1], "other"}));
  for (const std::string& name : left) age(folder / name, 3700);
  ASSERT_TRUE(write_atomically(files, folder / "other", "text"));
  EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"other"});
}

TEST(AtomicFile, RemovesNothingOfALivingWriterOrOfAnotherUserOrName) {
  TemporaryDirectory folder;
  FakeFileSystem files(without_unnamed());
  AtomicFile writing = AtomicFile::create(files, folder / "out").value();
  const std::string digits = "0123456789abcdef", mark = ".diecast-tmp-";
  for (const std::string& name :
       {"." + mark, ".a" + mark + digits + "0", ".a" + mark + "0123456789ABCDEF",
        "a" + mark + digits, ".a.diecast_tmp-" + digits}) {
    write_text(folder / name, "another's");
  }
  ASSERT_EQ(::symlink("nowhere", (folder / (".link" + mark + digits)).c_str()), 0);
  ASSERT_EQ(::mkdir((folder / (".folder" + mark + digits)).c_str(), 0700), 0);
  const std::string theirs = folder / (".theirs" + mark + digits);
  if (::geteuid() == 0) {
    write_text(theirs, "another user's");
    ASSERT_EQ(::chown(theirs.c_str(), 12345, 12345), 0);
  }
  const std::vector<std::string> before = tree(folder.path());
  for (const std::string& name : before) age(folder / name, 7200);
  ASSERT_TRUE(write_atomically(files, folder / "other", "text"));
  auto after = tree(folder.path());
  std::erase(after, "other");
  EXPECT_EQ(after, before);
  ASSERT_TRUE(writing.write(as_bytes("text")));
  ASSERT_TRUE(writing.commit());
  EXPECT_EQ(text_of(folder / "out"), "text");
}

// Without /proc nothing can be linked; with `done` only the reply is lost.
TEST(AtomicFile, IsCopiedWhereAnUnnamedFileGetsNoName) {
  for (const bool done : {false, true}) {
    TemporaryDirectory folder;
    const std::string path = folder / "out", text(3 << 20, 'x');
    write_text(path, "old");
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    FakeFileSystem files([&](const FileCall& call) {
      return FileFault{call.name == "link_descriptor" ? ENOENT : 0, done};
    });
    ASSERT_TRUE(write_atomically(files, path, text));
    EXPECT_EQ(text_of(path), "!" + text.substr(1));
    EXPECT_EQ(mode_of(path), S_IFREG | 0640u);
    EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"out"});
  }
}

TEST(AtomicFile, TakesTheLongestNames) {
  TemporaryDirectory folder;
  const std::string path = folder / std::string(255, 'n');
  EXPECT_TRUE(write_atomically(system_files(), path, "long name"));
  EXPECT_EQ(text_of(path), "!ong name");
}

TEST(AtomicFile, ReplacesASymbolicLinkAndRefusesWhatIsNoFile) {
  TemporaryDirectory folder;
  const std::string target = folder / "target", link = folder / "link", fifo = folder / "fifo";
  write_text(target, "untouched");
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  ASSERT_TRUE(write_atomically(system_files(), link, "new text"));
  EXPECT_EQ(text_of(target), "untouched");
  EXPECT_TRUE(S_ISREG(mode_of(link)));
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(write_atomically(system_files(), fifo, "text").error().message(),
            cat("diecast: file_exists: cannot write \"", fifo,
                "\": it is not a regular file\n"
                "  fix: give the path of a new or regular file"));
  const std::string output = folder / "output";
  ASSERT_EQ(::symlink(fifo.c_str(), output.c_str()), 0);
  EXPECT_EQ(write_atomically(system_files(), output, "text").error().code, ErrorCode::file_exists);
  EXPECT_TRUE(S_ISLNK(mode_of(output)));
  EXPECT_EQ(write_atomically(system_files(), folder / ".", "text").error().code,
            ErrorCode::io_error);
  EXPECT_EQ(write_atomically(system_files(), "", "text").error().code, ErrorCode::file_not_found);
  EXPECT_EQ(write_atomically(system_files(), folder / "no/out", "text").error().code,
            ErrorCode::file_not_found);
  ASSERT_EQ(::mkdir((folder / "d").c_str(), 0700), 0);
  EXPECT_EQ(write_atomically(system_files(), folder / "d", "text").error().code,
            ErrorCode::file_exists);
}

TEST(AtomicFile, GoesOnWithoutRoomReservedWhereTheFileSystemCannot) {
  TemporaryDirectory folder;
  FakeFileSystem files(FakeFileSystem::refuse("reserve", EOPNOTSUPP));
  EXPECT_TRUE(write_atomically(files, folder / "out", "some text"));
  FakeFileSystem full(FakeFileSystem::refuse("reserve", ENOSPC));
  EXPECT_EQ(write_atomically(full, folder / "out2", "some text").error().what,
            cat("cannot reserve 109 bytes for \"", folder / "out2",
                "\": No space left on device (errno 28)"));
}

// Some file systems report a write that failed only in close.
TEST(AtomicFile, IsNotRenamedWhereClosingItFails) {
  TemporaryDirectory folder;
  const std::string path = folder / "out";
  write_text(path, "old");
  FakeFileSystem files(FakeFileSystem::refuse("close", EIO));
  EXPECT_EQ(write_atomically(files, path, "new text").error().code, ErrorCode::io_error);
  EXPECT_EQ(text_of(path), "old");
}

// The final name holds the old text or the new one whichever call fails, and nothing else remains
// unless removing it was refused too.
TEST(AtomicFile, IsOldOrNewWhicheverCallFails) {
  const FakeFileSystem::Rule ways[] = {{[](const FileCall&) { return FileFault{}; }},
                                       without_unnamed(),
                                       FakeFileSystem::refuse("link_descriptor", ENOENT)};
  for (const int error : {EIO, ENOSPC, EACCES, EINTR, EMFILE}) {
    for (int way = 0; way < 6; ++way) {
      const bool sticky = way % 2 == 1;
      bool finished = false;
      for (int n = 1; !finished; ++n) {
        TemporaryDirectory folder(testing::memory_directory());
        const std::string path = folder / "out";
        write_text(path, "old");
        const std::size_t descriptors = open_descriptors();
        const auto failing = FakeFileSystem::fail_from(n, error, sticky);
        FakeFileSystem files(FakeFileSystem::both(failing, ways[way / 2]));
        const Result<void> result = write_atomically(files, path, "new text");
        finished = files.calls() < n;
        const std::string text = text_of(path);
        if (result) {
          EXPECT_EQ(text, "!ew text");
        } else {
          EXPECT_TRUE(text == "old" || text == "!ew text") << text;
        }
        if (!sticky) {
          EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"out"}) << n;
        }
        EXPECT_EQ(open_descriptors(), descriptors) << n;
        ASSERT_LT(n, 100);
      }
    }
  }
}

}  // namespace
}  // namespace diecast
