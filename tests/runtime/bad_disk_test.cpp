// I3: a runtime compiles and serves whatever the disk below its cache does.
#include <errno.h>
#include <gtest/gtest.h>

#include "fake_file_system.h"
#include "how_many.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FakeMachine;
using testing::FileCall;
using testing::FileFault;
using testing::kAmax;
using testing::TemporaryDirectory;

class BadDisk : public ::testing::Test {
 protected:
  BadDisk() { machine_.nvrtc.unset("JOURNAL"); }

  // The artifact's bytes, with everything published that can be; empty after an error.
  Bytes served(const std::string& root, FileSystem& files, EventSink sink = nullptr) {
    RuntimeOptions options = machine_.options();
    options.cache = root;
    options.files = &files;
    options.on_event = std::move(sink);
    const auto runtime = Runtime::create(options);
    if (!runtime) return {};
    const auto resolved = (*runtime)->resolve((*runtime)->specialize(kAmax).value());
    (*runtime)->flush();
    return resolved ? resolved->artifact->payload : Bytes();
  }
  FakeMachine machine_;
};

TEST_F(BadDisk, IsNobodysErrorWhicheverCallFails) {
  const std::vector<int> every = {EIO,    EACCES, ENOSPC, EROFS,  ENOENT,
                                  EEXIST, ESTALE, ENOLCK, EMFILE, EINVAL};
  const auto errors = testing::how_many(std::vector<int>{EIO}, every, every);
  const TemporaryDirectory whole(testing::memory_directory());
  const Bytes expected = served(whole / "cache", system_files());
  int cases = 0;
  for (const int error : errors) {
    for (const bool sticky : {false, true}) {
      for (int n = 1;; ++n, ++cases) {
        const TemporaryDirectory folder(testing::memory_directory());
        FakeFileSystem files(FakeFileSystem::fail_from(n, error, sticky));
        EXPECT_EQ(served(folder / "cache", files), expected) << n << " " << error << sticky;
        EXPECT_EQ(served(folder / "cache", system_files()), expected);
        ASSERT_FALSE(HasFailure());
        if (!files.refused()) break;
      }
    }
  }
  EXPECT_GT(cases, 50);
}

// R34: one compile is enough to know, and one event says it.
TEST_F(BadDisk, ThatMayNotBeWrittenIsToldAtOnceAndOnce) {
  const TemporaryDirectory folder;
  FakeFileSystem files(FakeFileSystem::refuse("sync_data", EACCES));
  std::vector<std::string> degraded;
  EXPECT_FALSE(served(folder / "cache", files, [&](const RuntimeEvent& event) {
                 if (event.kind == RuntimeEvent::Kind::degraded) degraded.push_back(event.detail);
               }).empty());
  ASSERT_EQ(degraded.size(), 1u);
  EXPECT_EQ(degraded[0],
            "not written for now: " + folder / "cache" + " refuses writing (`diecast doctor`)");
}

}  // namespace
}  // namespace diecast
