// A private folder goes with its owner, or when the next one is made after its owner was killed.
#include <diecast/base/private_directory.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <filesystem>

#include "child_process.h"
#include "environment_variable.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

namespace fs = std::filesystem;

class PrivateDirectoryTest : public ::testing::Test {
 protected:
  // Of a process that is killed with it.
  static void leave_one() {
    testing::in_child([] {
      const auto made = PrivateDirectory::make();
      testing::write_text(made->file("kernel.so"), "half");
      return ::kill(::getpid(), SIGKILL);
    });
  }
  std::string only_one() const { return fs::directory_iterator(base_.path())->path().string(); }
  static void make_old(const std::string& path) {
    const struct timeval epoch[2] = {};
    EXPECT_EQ(::utimes(path.c_str(), epoch), 0) << path;
  }
  std::vector<std::string> made_after() {
    (void)PrivateDirectory::make().value();
    return testing::tree(base_.path());
  }

  const testing::TemporaryDirectory base_;
  const testing::Variable variable_{"TMPDIR", base_.path()};
};

TEST_F(PrivateDirectoryTest, OfAKilledProcessIsRemovedByTheNextAfterAnHour) {
  leave_one();
  EXPECT_EQ(made_after().size(),
            3u);  // the folder and two files: its owner may be about to lock it
  make_old(only_one() + "/in-use");
  EXPECT_EQ(made_after().size(), 0u);
}

// Killed before the folder had its lock.
TEST_F(PrivateDirectoryTest, WithoutALockIsRemovedAfterAnHourIfItIsEmpty) {
  const std::string path = base_ / "diecast-abc123";
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  EXPECT_EQ(made_after().size(), 1u);  // somebody may be about to lock it
  make_old(path);
  EXPECT_EQ(made_after().size(), 0u);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  testing::write_text(base_ / "diecast-abc123/notes", "mine");
  make_old(base_ / "diecast-abc123");
  EXPECT_EQ(made_after().size(), 2u);
}

TEST_F(PrivateDirectoryTest, InUseStaysHoweverOld) {
  const PrivateDirectory mine = PrivateDirectory::make().value();
  make_old(mine.file("in-use"));
  EXPECT_EQ(made_after().size(), 2u);
}

TEST_F(PrivateDirectoryTest, OfALikeNameIsNobodysButItsUsers) {
  const mode_t before = ::umask(022);
  fs::create_directory(base_ / "diecast-output");  // nothing is in it yet
  ::umask(before);
  make_old(base_ / "diecast-output");
  EXPECT_EQ(made_after().size(), 1u);
  fs::remove(base_ / "diecast-output");
  fs::create_directory(base_ / "diecast-models");
  testing::write_text(base_ / "diecast-models/weights", "mine");
  make_old(base_ / "diecast-models/weights");
  make_old(base_ / "diecast-models");
  EXPECT_EQ(made_after().size(), 2u);
}

}  // namespace
}  // namespace diecast
