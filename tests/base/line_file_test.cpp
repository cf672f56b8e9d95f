// Lines added where a disk fills up, a writer dies or a file may grow no further.
#include <diecast/base/line_file.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <thread>
#include <vector>

#include "child_process.h"
#include "fake_file_system.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;

TEST(LineFile, ALineThatAFullDiskCutShortIsNoPartOfTheNext) {
  const testing::TemporaryDirectory folder;
  int writes = 0;
  FakeFileSystem files([&](const FileCall& call) {
    if (call.name != "write_at") return FileFault{};
    ++writes;
    return FileFault{writes == 2 ? ENOSPC : 0, false, writes == 1 ? 3u : 0u};
  });
  const LineFile file = LineFile::open(files, folder / "lines").value();
  EXPECT_EQ(file.add("first").error().code, ErrorCode::io_error);
  EXPECT_TRUE(file.add("second"));
  EXPECT_TRUE(file.add("third"));
  EXPECT_EQ(testing::text_of(folder / "lines"), "fir\nsecond\nthird\n");
}

TEST(LineFile, ALineOfAnotherWriterThatWasKilledIsEndedFirst) {
  const testing::TemporaryDirectory folder;
  const LineFile file = LineFile::open(system_files(), folder / "lines").value();
  testing::write_text(folder / "lines", "whole\nhal");
  EXPECT_TRUE(file.add("next"));
  EXPECT_EQ(testing::text_of(folder / "lines"), "whole\nhal\nnext\n");
}

// Who looks at the end while another's line is being written takes it for whole.
TEST(LineFile, LinesOfManyThreadsHaveNothingBetweenThem) {
  const testing::TemporaryDirectory folder;
  const LineFile file = LineFile::open(system_files(), folder / "lines").value();
  const std::string line(5000, 'x');
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) EXPECT_TRUE(file.add(line));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string want;
  for (int n = 0; n < 2000; ++n) want += line + '\n';
  EXPECT_TRUE(testing::text_of(folder / "lines") == want);
}

// What has no places to write at, and would stop the writer where nobody reads.
TEST(LineFile, APipeIsRefused) {
  const testing::TemporaryDirectory folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(LineFile::open(system_files(), pipe).error().message(),
            "diecast: file_exists: cannot add lines to \"" + pipe +
                "\": it is a pipe or a terminal\n  fix: give the path of a new or regular file");
  EXPECT_TRUE(LineFile::open(system_files(), "/dev/null").value().add("nothing"));
}

TEST(LineFile, BeyondTheLimitOfFileSizesIsAnErrorAndNoSignal) {
  const testing::TemporaryDirectory folder;
  testing::write_text(folder / "lines", "nine and\n");
  const int ended = testing::in_child([&] {
    const struct rlimit ten = {10, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &ten) != 0) return 9;
    const LineFile file = LineFile::open(system_files(), folder / "lines").value();
    const auto added = file.add("more");
    return added || added.error().code != ErrorCode::io_error ? 1 : 0;
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(testing::text_of(folder / "lines"), "nine and\n");
}

}  // namespace
}  // namespace diecast
