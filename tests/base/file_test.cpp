// The seam to the file system and what is read and written through it.
#include <diecast/base/file.h>
#include <diecast/base/text.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "fake_file_system.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;
using testing::open_descriptors;
using testing::TemporaryDirectory;
using testing::tree;
using testing::write_text;

std::string as_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(SystemFiles, OpensEveryDescriptorCloseOnExec) {
  FileSystem& files = system_files();
  const Descriptor file(files, files.open_at(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0));
  ASSERT_TRUE(file);
  EXPECT_EQ(::fcntl(file.number(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

// Where the kernel can say so in one call; where it cannot, it says that.
TEST(SystemFiles, OpenAPathOfSeveralComponentsThroughNoLinkAndNotUpwards) {
  const TemporaryDirectory folder;
  ASSERT_EQ(::mkdir((folder / "a").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("a", (folder / "link").c_str()), 0);
  write_text(folder / "a/file", "text");
  FileSystem& files = system_files();
  const Descriptor at(files, files.open_at(AT_FDCWD, folder.path().c_str(), O_DIRECTORY, 0));
  const auto open = [&](const char* path) {
    const int file = files.open_at(at.number(), path, O_RDONLY | O_NOFOLLOW, 0);
    if (file >= 0) files.close(file);
    return file >= 0 ? 0 : file;
  };
  if (open("a/file") == -ENOSYS) GTEST_SKIP() << "no openat2";
  EXPECT_EQ(open("a/file"), 0);
  EXPECT_EQ(open("link/file"), -ELOOP);
  EXPECT_EQ(open("a/../../etc"), -EXDEV);
}

TEST(SystemFiles, ReportsErrnoAsANegativeNumber) {
  FileSystem& files = system_files();
  struct stat status;
  char text[4];
  EXPECT_EQ(files.open_at(AT_FDCWD, "/nothing/here", O_RDONLY, 0), -ENOENT);
  EXPECT_EQ(files.close(-1), -EBADF);
  EXPECT_EQ(files.read_at(-1, text, 4, 0), -EBADF);
  EXPECT_EQ(files.write_at(-1, text, 4, 0), -EBADF);
  EXPECT_EQ(files.sync_data(-1), -EBADF);
  EXPECT_EQ(files.sync_all(-1), -EBADF);
  EXPECT_EQ(files.truncate(-1, 0), -EBADF);
  EXPECT_EQ(files.reserve(-1, 1), -EBADF);
  EXPECT_EQ(files.change_mode(-1, 0600), -EBADF);
  EXPECT_EQ(files.status(-1, &status), -EBADF);
  EXPECT_EQ(files.status_at(AT_FDCWD, "/nothing/here", &status, 0), -ENOENT);
  EXPECT_EQ(files.make_directory_at(AT_FDCWD, "/", 0700), -EEXIST);
  EXPECT_EQ(files.link_descriptor(1 << 20, AT_FDCWD, "/nothing/here"), -ENOENT);
  EXPECT_EQ(files.link_at(AT_FDCWD, "/nothing/a", AT_FDCWD, "/nothing/b"), -ENOENT);
  EXPECT_EQ(files.rename_at(AT_FDCWD, "/nothing/a", AT_FDCWD, "/nothing/b", 0), -ENOENT);
  EXPECT_EQ(files.rename_at(AT_FDCWD, "/nothing/a", AT_FDCWD, "/nothing/b", 1), -ENOENT);
  EXPECT_EQ(files.unlink_at(AT_FDCWD, "/nothing/here", 0), -ENOENT);
  EXPECT_EQ(files.read_link_at(AT_FDCWD, "/", text, 4), -EINVAL);
  EXPECT_EQ(files.set_times(-1, nullptr), -EBADF);
  EXPECT_EQ(files.list_directory(-1, [](const char*) { return true; }), -EBADF);
  EXPECT_EQ(files.try_lock(-1, 0, 1), -EBADF);
  EXPECT_EQ(files.unlock(-1, 0, 1), -EBADF);
}

TEST(SystemFiles, ListsADirectoryWithoutDotsAndStopsWhenAsked) {
  TemporaryDirectory folder;
  const std::set<std::string> names = {".hidden", "a", "b"};
  for (const std::string& name : names) write_text(folder / name, "");
  FileSystem& files = system_files();
  const Descriptor directory(
      files, files.open_at(AT_FDCWD, folder.path().c_str(), O_RDONLY | O_DIRECTORY, 0));
  std::set<std::string> seen;
  for (int again = 0; again < 2; ++again) {  // the descriptor keeps no position
    seen.clear();
    EXPECT_EQ(files.list_directory(directory.number(),
                                   [&](const char* name) { return seen.insert(name).second; }),
              0);
    EXPECT_EQ(seen, names);
  }
  int calls = 0;
  EXPECT_EQ(files.list_directory(directory.number(),
                                 [&](const char*) { return errno = EIO, ++calls < 2; }),
            0);
  EXPECT_EQ(calls, 2);
}

TEST(SystemFiles, LocksByteRangesPerOpenFileAndFreesThemOnUnlock) {
  TemporaryDirectory folder;
  FileSystem& files = system_files();
  const std::string path = folder / "lock";
  const Descriptor one(files, files.open_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT, 0600));
  const Descriptor two(files, files.open_at(AT_FDCWD, path.c_str(), O_RDWR, 0));
  const std::uint64_t far = (1ull << 62) - 1;
  EXPECT_EQ(files.try_lock(one.number(), far, 1), 0);
  EXPECT_EQ(files.try_lock(two.number(), far, 1), -EAGAIN);
  EXPECT_EQ(files.try_lock(two.number(), far - 1, 1), 0);
  EXPECT_EQ(files.unlock(one.number(), far, 1), 0);
  EXPECT_EQ(files.try_lock(two.number(), far, 1), 0);
}

TEST(SystemFiles, GivesAnUnnamedFileItsNameOnce) {
  TemporaryDirectory folder;
  FileSystem& files = system_files();
  const Descriptor directory(
      files, files.open_at(AT_FDCWD, folder.path().c_str(), O_RDONLY | O_DIRECTORY, 0));
  for (const int expected : {0, -EEXIST}) {
    const Descriptor file(files, files.open_at(directory.number(), ".", O_TMPFILE | O_RDWR, 0600));
    if (file.number() == -EOPNOTSUPP) GTEST_SKIP() << "/tmp has no O_TMPFILE";
    ASSERT_TRUE(file);
    EXPECT_EQ(files.link_descriptor(file.number(), directory.number(), "name"), expected);
  }
  EXPECT_EQ(tree(folder.path()), std::vector<std::string>{"name"});
}

TEST(Descriptor, ClosesOnceAndMovesItsNumber) {
  const std::size_t before = open_descriptors();
  FakeFileSystem files;
  {
    Descriptor one(files, files.open_at(AT_FDCWD, "/", O_RDONLY, 0));
    Descriptor two = std::move(one);
    EXPECT_FALSE(one);
    EXPECT_TRUE(two);
    Descriptor three(files, files.open_at(AT_FDCWD, "/", O_RDONLY, 0));
    three = std::move(two);
    EXPECT_EQ(three.close(), 0);
    EXPECT_EQ(three.close(), 0);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(files.calls(), 4);  // two opened, two closed
}

TEST(ReadExactly, GoesOnAfterShortReadsAndWrites) {
  TemporaryDirectory folder;
  FakeFileSystem files([](const FileCall&) { return FileFault{0, false, 3}; });
  const Descriptor file(files,
                        files.open_at(AT_FDCWD, (folder / "f").c_str(), O_RDWR | O_CREAT, 0600));
  const std::string text = "sixteen bytes ..";
  EXPECT_EQ(write_exactly(files, file.number(), text.data(), text.size(), 0), 0);
  std::string back(text.size(), ' ');
  EXPECT_EQ(read_exactly(files, file.number(), back.data(), back.size(), 0), 0);
  EXPECT_EQ(back, text);
  EXPECT_EQ(read_exactly(files, file.number(), back.data(), back.size(), 1), -EIO);  // early end
}

TEST(ReadFile, ReadsAWholeFileUpToTheLimit) {
  TemporaryDirectory folder;
  const std::string path = folder / "f", text(5000, 'x');
  write_text(path, text);
  EXPECT_EQ(as_text(read_file(system_files(), path, 5000).value()), text);
  const Result<Bytes> refused = read_file(system_files(), path, 4999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), cat("diecast: io_error: cannot read \"", path,
                                           "\": more than the 4999 bytes that are accepted here\n"
                                           "  fix: give the path of a smaller file"));
  write_text(path, "");
  EXPECT_TRUE(read_file(system_files(), path, 0).value().empty());
}

TEST(ReadFile, ReadsFilesThatSayTheyAreEmpty) {
  const Bytes bytes = read_file(system_files(), "/proc/self/status", 1 << 20).value();
  EXPECT_EQ(as_text(bytes).substr(0, 5), "Name:");
}

TEST(ReadFile, NamesWhatIsNoFile) {
  TemporaryDirectory folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_file(system_files(), fifo, 9).error().message(),  // and does not hang
            cat("diecast: io_error: cannot read \"", fifo,
                "\": not a regular file\n"
                "  fix: give the path of a regular file"));
  EXPECT_EQ(read_file(system_files(), folder.path(), 9).error().code, ErrorCode::io_error);
  const std::string missing = folder / "no such";
  EXPECT_EQ(read_file(system_files(), missing, 9).error().message(),
            cat("diecast: file_not_found: cannot open \"", missing,
                "\": No such file or directory (errno 2)\n  fix: check the spelling of \"", missing,
                "\" and that its directory exists"));
}

TEST(ReadFile, SaysThatTheDiskDoesNotGiveIt) {
  TemporaryDirectory folder;
  const std::string path = folder / "in";
  write_text(path, "text");
  for (const char* call : {"status", "read_at"}) {
    FakeFileSystem files(FakeFileSystem::refuse(call, EIO));
    EXPECT_EQ(read_file(files, path, 9).error().what,
              cat("cannot read \"", path, "\": Input/output error (errno 5)"));
  }
}

TEST(FileError, HasACodeAndAFixForEachFamily) {
  EXPECT_EQ(file_error("write", "/x", -EEXIST).code, ErrorCode::file_exists);
  EXPECT_EQ(file_error("write", "/x", -ENOTDIR).code, ErrorCode::file_not_found);
  EXPECT_EQ(file_error("write", "/x", -ENOSPC).message(),
            "diecast: io_error: cannot write \"/x\": No space left on device (errno 28)\n"
            "  fix: free space (`df -h \"/\"`) or give a path on another disk");
  for (const int code : {EACCES, EISDIR, EROFS, EMFILE, ENAMETOOLONG, EFBIG, EIO, 9999}) {
    const Error error = file_error("write", "/x", -code);
    EXPECT_EQ(error.code, ErrorCode::io_error);
    EXPECT_FALSE(error.fix.empty());
  }
}

// `df` and `ls` say nothing of what is not there.
TEST(FileError, NamesTheNearestFolderThatIsThere) {
  TemporaryDirectory folder;
  const auto fix = [](const std::string& path) { return file_error("write", path, -EACCES).fix; };
  const auto look = [](const std::string& path) {
    return cat("see who may use it with `ls -ld \"", path, "\"`, or give another path");
  };
  EXPECT_EQ(fix(folder.path()), look(folder.path()));
  EXPECT_EQ(fix(folder / "no/such/file"), look(folder.path()));
  EXPECT_EQ(fix("no such file"), look("."));
  EXPECT_EQ(fix("/no such file"), look("/"));
  EXPECT_EQ(fix(""), look("."));
}

TEST(FileText, IsWithoutAByteOrderMark) {
  EXPECT_EQ(file_text(as_bytes("\xEF\xBB\xBFtext")), "text");
  EXPECT_EQ(file_text(as_bytes("text\xEF\xBB\xBF")), "text\xEF\xBB\xBF");
  EXPECT_EQ(file_text(as_bytes("\xEF\xBB")), "\xEF\xBB");
}

TEST(RandomBits, Differ) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random_bits());
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(hex16(0x0123456789abcdefull), "0123456789abcdef");
}

}  // namespace
}  // namespace diecast
