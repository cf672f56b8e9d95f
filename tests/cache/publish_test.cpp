// The ladder of ways to name a complete file, rung by rung, on file systems that lack the others.
#include <diecast/base/text.h>
#include <diecast/cache/publish.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "fake_file_system.h"
#include "temporary_directory.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::FileCall;
using testing::FileFault;
using testing::TemporaryDirectory;
using testing::text_of;
using testing::tree;
using testing::write_text;

bool is_unnamed(const FileCall& call) {
  return call.name == "open_at" && (call.flags & O_TMPFILE) == O_TMPFILE;
}

// A file system that lacks: unnamed files, rename without replacing, links.
FakeFileSystem::Rule lacking(bool unnamed, bool noreplace, bool link, int error = EINVAL) {
  return [=](const FileCall& call) {
    const bool lacks = (unnamed && is_unnamed(call)) ||
                       (noreplace && call.name == "rename_at" && call.flags != 0) ||
                       (link && call.name == "link_at");
    return FileFault{lacks ? error : 0};
  };
}

class EntryWriterTest : public ::testing::Test {
 protected:
  // The outcome of publishing `text` as "entry" through `files`.
  int publish(FakeFileSystem& files, std::string_view text = "the entry") {
    EntryWriter writer(files);
    return writer.publish(shard(files).number(), "entry", as_bytes(text));
  }
  Descriptor shard(FakeFileSystem& files) const {
    return {files, files.open_at(AT_FDCWD, folder_.path().c_str(), O_PATH | O_DIRECTORY, 0)};
  }
  FileIdentity identity_of_entry() const {
    struct stat status = {};
    EXPECT_EQ(::stat((folder_ / "entry").c_str(), &status), 0);
    return FileIdentity::of(status);
  }
  std::string entry() const { return text_of(folder_ / "entry"); }
  std::vector<std::string> names() const { return tree(folder_.path()); }
  static std::size_t count(const FakeFileSystem& files, const char* name) {
    const auto names = files.names();
    return static_cast<std::size_t>(std::ranges::count(names, name));
  }

  TemporaryDirectory folder_;
  const std::vector<std::string> only_entry_ = {"entry"};
};

TEST_F(EntryWriterTest, SyncsTheDataBeforeItGetsItsName) {
  for (const bool unnamed : {false, true}) {
    FakeFileSystem files(lacking(unnamed, false, false));
    EXPECT_EQ(publish(files), 0);
    const auto calls = files.names();
    const auto synced = std::ranges::find(calls, "sync_data");
    const auto named = std::ranges::find(calls, unnamed ? "rename_at" : "link_descriptor");
    ASSERT_NE(named, calls.end());
    EXPECT_LT(std::ranges::find(calls, "write_at"), synced);
    EXPECT_LT(synced, named);
    EXPECT_EQ(entry(), "the entry");
    EXPECT_EQ(names(), only_entry_);
    ::remove((folder_ / "entry").c_str());
  }
}

TEST_F(EntryWriterTest, ClosesANamedTemporaryBeforeItGetsItsName) {
  FakeFileSystem files(FakeFileSystem::both(lacking(true, false, false), [](const FileCall& call) {
    static int opened = 0;  // the close after the temporary's opening
    if (call.name == "open_at" && (call.flags & O_CREAT) != 0) opened = call.number;
    return FileFault{opened != 0 && call.name == "close" ? EIO : 0};
  }));
  EXPECT_EQ(publish(files), -EIO);
  EXPECT_TRUE(names().empty());
}

TEST_F(EntryWriterTest, TakesTheNextRungWhereOneIsMissing) {
  struct Case {
    bool unnamed, noreplace, link;
    const char* last;  // the call that gave the name
  };
  for (const Case& c :
       {Case{false, false, false, "link_descriptor"}, Case{true, false, false, "rename_at"},
        Case{true, true, false, "link_at"}, Case{true, true, true, "rename_at"}}) {
    for (const int error : {EOPNOTSUPP, EINVAL, EISDIR, ENOSYS}) {
      FakeFileSystem files(lacking(c.unnamed, c.noreplace, c.link, error));
      EXPECT_EQ(publish(files), 0) << c.last << error;
      EXPECT_EQ(entry(), "the entry");
      EXPECT_EQ(names(), only_entry_);
      EXPECT_GE(count(files, c.last), 1u);
      FakeFileSystem again(lacking(c.unnamed, c.noreplace, c.link, error));
      // A plain rename replaces; the bytes of one key are worth the same whoever made them.
      EXPECT_EQ(publish(again, "another"), c.link ? 0 : -EEXIST);
      EXPECT_EQ(entry(), c.link ? "another" : "the entry");
      EXPECT_EQ(names(), only_entry_);
      ::remove((folder_ / "entry").c_str());
    }
  }
}

TEST_F(EntryWriterTest, RemembersThatUnnamedFilesAreMissing) {
  int published = 0;
  for (const auto& rule : {lacking(true, false, false),
                           FakeFileSystem::refuse("link_descriptor", ENOENT)}) {  // no /proc
    FakeFileSystem files(rule);
    EntryWriter writer(files);
    const Descriptor folder = shard(files);
    for (int i = 0; i < 3; ++i) {
      const std::string name = std::to_string(++published);
      EXPECT_EQ(writer.publish(folder.number(), name, as_bytes("text")), 0);
    }
    EXPECT_EQ(std::ranges::count_if(files.log(), is_unnamed), 1);
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"1", "2", "3", "4", "5", "6"}));
}

TEST_F(EntryWriterTest, BelievesTheLinkCountWhenAReplyIsLost) {
  for (const bool unnamed : {false, true}) {
    const char* call_name = unnamed ? "link_at" : "link_descriptor";
    for (const int error : {EIO, EEXIST}) {
      if (!unnamed && error == EEXIST) continue;  // local: EEXIST is always true
      FakeFileSystem files(
          FakeFileSystem::both(lacking(unnamed, true, false), [=](const FileCall& call) {
            return call.name == call_name ? FileFault{error, true} : FileFault{};
          }));
      EXPECT_EQ(publish(files), 0) << call_name;
      EXPECT_EQ(entry(), "the entry");
      EXPECT_EQ(names(), only_entry_);
      ::remove((folder_ / "entry").c_str());
    }
  }
}

TEST_F(EntryWriterTest, NamesTemporariesAfterChanceProcessAndBootAndOpensNoneThatExists) {
  std::set<std::string> tried;
  FakeFileSystem files(FakeFileSystem::both(lacking(true, false, false), [&](const FileCall& call) {
    if ((call.flags & O_CREAT) == 0) return FileFault{};
    EXPECT_EQ(call.flags & (O_EXCL | O_NOFOLLOW), O_EXCL | O_NOFOLLOW);
    EXPECT_TRUE(tried.insert(call.path).second);
    return FileFault{EEXIST};
  }));
  EXPECT_EQ(publish(files), -EEXIST);
  ASSERT_EQ(tried.size(), 8u);
  const std::string process = cat("-", ::getpid(), "-");
  for (const std::string& name : tried) {
    EXPECT_EQ(name.substr(0, 3), ".t-");
    EXPECT_EQ(name.substr(19, process.size()), process) << name;
    EXPECT_EQ(name.size(), 19 + process.size() + 8) << name;
  }
}

TEST_F(EntryWriterTest, NeverSyncsTwice) {
  for (const int error : {EIO, ENOSPC, EDQUOT, EINTR}) {
    FakeFileSystem files(FakeFileSystem::refuse("sync_data", error));
    EXPECT_EQ(publish(files), -error);
    EXPECT_EQ(count(files, "sync_data"), 1u);
    EXPECT_TRUE(names().empty());
  }
}

TEST_F(EntryWriterTest, WritesOnAfterShortWrites) {
  FakeFileSystem files([](const FileCall&) { return FileFault{0, false, 2}; });
  EXPECT_EQ(publish(files), 0);
  EXPECT_EQ(entry(), "the entry");
}

TEST_F(EntryWriterTest, ReplacesOnlyTheFileItHasSeen) {
  FakeFileSystem files;
  EntryWriter writer(files);
  const Descriptor folder = shard(files);
  write_text(folder_ / "entry", "damaged");
  const FileIdentity seen = identity_of_entry();
  FileIdentity other = seen;
  other.nanoseconds ^= 1;
  const auto replace = [&](const FileIdentity& file) {
    return writer.replace(folder.number(), "entry", as_bytes("whole"), file);
  };
  EXPECT_EQ(replace(other), -EEXIST);
  EXPECT_EQ(entry(), "damaged");
  EXPECT_EQ(replace(seen), 0);
  EXPECT_EQ(entry(), "whole");
  EXPECT_EQ(replace(seen), -EEXIST);  // by now it is another
  ::remove((folder_ / "entry").c_str());
  EXPECT_EQ(replace(seen), 0);
  EXPECT_EQ(names(), only_entry_);
}

TEST_F(EntryWriterTest, ReplacesNothingByWhatItCouldNotWrite) {
  write_text(folder_ / "entry", "damaged");
  for (const char* call : {"write_at", "sync_data", "close"}) {
    FakeFileSystem files(FakeFileSystem::refuse(call, EIO));
    EntryWriter writer(files);
    const Descriptor folder = shard(files);
    const int replaced =
        writer.replace(folder.number(), "entry", as_bytes("whole"), identity_of_entry());
    EXPECT_EQ(replaced, -EIO) << call;
    EXPECT_EQ(entry(), "damaged") << call;
    EXPECT_EQ(names(), only_entry_) << call;
  }
}

}  // namespace
}  // namespace diecast
