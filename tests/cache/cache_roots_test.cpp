// Layered roots: the order of lookup, who is written, and that read-only layers are never touched.
#include <diecast/cache/cache_directory.h>
#include <diecast/cache/cache_roots.h>
#include <diecast/cache/explain.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <utility>

#include "cache/disk_cache_fixture.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using testing::FakeFileSystem;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::Sample;
using Kind = CacheRootSetting::Kind;

class CacheRootsTest : public ::testing::Test {
 protected:
  std::unique_ptr<CacheRoots> open(const std::string& setting, FileSystem& files = system_files()) {
    refused_.clear();
    return CacheRoots::open(parse_cache_setting(setting).value(), RootAccess::create, refused_,
                            files);
  }
  void fill(const std::string& name, const Sample& sample) {
    ASSERT_TRUE(DiskCache::open(folder_ / name).value()->publish(sample.key, sample.artifact));
  }
  void bundle(const std::string& name, const Sample& sample) {
    auto writer = BundleWriter::create(folder_ / name).value();
    ASSERT_TRUE(writer.add(*encode_entry(sample.key, sample.artifact)));
    ASSERT_TRUE(writer.commit());
  }
  testing::TemporaryDirectory folder_;
  std::vector<RefusedRoot> refused_;
};

TEST(CacheSetting, ReadsRootsOfEachKind) {
  const std::string pin(64, 'a');
  const auto roots =
      parse_cache_setting("ro:/opt/cache, bundle:/k.dcb,bundle:/p.dcb#sha256=" + pin + ",rw:/a,/b")
          .value();
  ASSERT_EQ(roots.size(), 5u);
  EXPECT_EQ(roots[0].kind, Kind::read_only);
  EXPECT_EQ(roots[0].path, "/opt/cache");
  EXPECT_EQ(roots[1].kind, Kind::bundle);
  EXPECT_FALSE(roots[1].pin);
  EXPECT_EQ(roots[2].path, "/p.dcb");
  EXPECT_EQ(hex(*roots[2].pin), pin);
  EXPECT_EQ(roots[3].kind, Kind::read_write);
  EXPECT_EQ(roots[4].path, "/b");
}

TEST(CacheSetting, RefusesWhatIsNoAbsolutePathAndBadPins) {
  for (const char* bad : {"", "cache", "ro:cache", "rw:", "/a,", ",/a", "bundle:k.dcb", "wo:/a"}) {
    const auto refused = parse_cache_setting(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(parse_cache_setting("bundle:/k.dcb#sha256=12").error().message(),
            "diecast: invalid_argument: the pin of the cache root \"bundle:/k.dcb#sha256=12\" is "
            "not 64 hexadecimal digits\n"
            "  fix: give what `sha256sum FILE` prints, after #sha256=");
}

TEST_F(CacheRootsTest, LooksInTheirOrderAndWritesTheWritableOne) {
  const Sample shipped = make_sample(1), bundled = make_sample(2), own = make_sample(3);
  fill("shipped", shipped);
  bundle("k.dcb", bundled);
  const auto before = testing::tree(folder_ / "shipped");
  const auto roots =
      open(cat("ro:", folder_ / "shipped", ",bundle:", folder_ / "k.dcb", ",rw:", folder_ / "own"));
  EXPECT_TRUE(refused_.empty());
  EXPECT_TRUE(roots->find(shipped.key, kSampleCompiler));
  EXPECT_TRUE(roots->find(bundled.key, kSampleCompiler));
  EXPECT_FALSE(roots->find(own.key, kSampleCompiler));
  EXPECT_TRUE(roots->lock(own.key, std::chrono::seconds(1), {}).held());
  EXPECT_TRUE(roots->publish(own.key, own.artifact));
  EXPECT_TRUE(roots->find(own.key, kSampleCompiler));
  EXPECT_EQ(roots->writable()->statistics().publishes, 1u);
  EXPECT_EQ(testing::tree(folder_ / "shipped"), before);
  EXPECT_EQ(roots->description(), cat("ro:", folder_ / "shipped", ", bundle:", folder_ / "k.dcb",
                                      ", rw:", folder_ / "own"));
}

// The calls that change anything, made on a read-only layer: none.
TEST_F(CacheRootsTest, AReadOnlyRootIsNeverCreatedLockedTouchedOrWritten) {
  const Sample sample = make_sample(1);
  fill("shipped", sample);
  FakeFileSystem files;
  files.clock_offset = 90000;  // a hit would mark the entry as used
  const auto roots = open(cat("ro:", folder_ / "shipped"), files);
  EXPECT_TRUE(roots->find(sample.key, kSampleCompiler));
  EXPECT_FALSE(roots->find(make_sample(2).key, kSampleCompiler));
  EXPECT_FALSE(roots->publish(make_sample(2).key, make_sample(2).artifact));
  EXPECT_FALSE(roots->lock(sample.key, std::chrono::seconds(1), {}).held());
  EXPECT_EQ(roots->writable(), nullptr);
  for (const testing::FileCall& call : files.log()) {
    const bool reading = call.name == "open_at" || call.name == "close" || call.name == "status" ||
                         call.name == "status_at" || call.name == "read_at" ||
                         call.name == "list_directory";
    EXPECT_TRUE(reading) << call.name << " " << call.path;
    if (call.name == "open_at") {
      EXPECT_EQ(call.flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC), 0) << call.path;
    }
  }
  const auto missing = open(cat("ro:", folder_ / "none"));
  EXPECT_TRUE(missing->layers().empty());
  EXPECT_EQ(refused_.at(0).error.code, ErrorCode::file_not_found);
  EXPECT_NE(::access((folder_ / "none").c_str(), F_OK), 0);
}

TEST_F(CacheRootsTest, ARootThatCannotBeUsedIsLeftOutAndTold) {
  const Sample sample = make_sample(1);
  fill("good", sample);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);  // others get here
  ASSERT_EQ(::mkdir((folder_ / "open").c_str(), 0777), 0);
  ASSERT_EQ(::chmod((folder_ / "open").c_str(), 0777), 0);
  const auto roots = open(
      cat("rw:", folder_ / "open", ",bundle:", folder_ / "none.dcb", ",ro:", folder_ / "good"));
  ASSERT_EQ(refused_.size(), 2u);
  EXPECT_EQ(root_name(refused_[0].setting), cat("rw:", folder_ / "open"));
  EXPECT_EQ(refused_[0].error.code, ErrorCode::unsafe_directory);
  EXPECT_EQ(root_name(refused_[1].setting), cat("bundle:", folder_ / "none.dcb"));
  EXPECT_EQ(refused_[1].error.code, ErrorCode::file_not_found);
  EXPECT_TRUE(roots->find(sample.key, kSampleCompiler));
  EXPECT_EQ(testing::mode_of(folder_ / "open") & 0777, 0777u);  // never silently changed
}

TEST_F(CacheRootsTest, ChoosesAmongCompilers) {
  Sample old = make_sample(1, 100), young = make_sample(1, 200);
  old.artifact.compiler = "nvrtc-12.9.41-a";
  young.artifact.compiler = "nvrtc-12.10.2-a";
  fill("own", old);
  fill("own", young);
  bundle("k.dcb", young);
  const auto roots = open(cat("rw:", folder_ / "own"));
  const auto size = [](const std::optional<Artifact>& found) {
    return found ? found->payload.size() : 0;
  };
  const auto& key = old.key;
  EXPECT_EQ(size(roots->find(key, "nvrtc-12.9.41-a")), 100u);
  EXPECT_EQ(size(roots->find(key, "nvrtc-11.8.1-a")), 0u);
  EXPECT_EQ(size(roots->find(key, "")), 200u);  // 12.10 is newer than 12.9
  EXPECT_EQ(size(roots->find(key, "", CompilerChoice::exact)), 0u);
  EXPECT_EQ(size(roots->find(key, "nvrtc-12.9.41-a", CompilerChoice::newest)), 200u);
  EXPECT_EQ(size(roots->find(key, "nvrtc-11.8.1-a", CompilerChoice::bundles)), 0u);
  const auto bundled = open(cat("bundle:", folder_ / "k.dcb"));
  EXPECT_EQ(size(bundled->find(key, "nvrtc-11.8.1-a", CompilerChoice::bundles)), 200u);
  EXPECT_EQ(size(bundled->find(key, "nvrtc-11.8.1-a")), 0u);
}

TEST_F(CacheRootsTest, PassesOverCodeThatADeviceRefused) {
  const Sample sample = make_sample(1, 100);
  Sample better = make_sample(1, 120);
  fill("shipped", sample);
  fill("own", better);
  const auto roots = open(cat("ro:", folder_ / "shipped", ",rw:", folder_ / "own"));
  EXPECT_EQ(roots->find(sample.key, kSampleCompiler)->payload.size(), 100u);
  const auto other =
      roots->find(sample.key, kSampleCompiler, CompilerChoice::found, &sample.artifact);
  EXPECT_EQ(other->payload.size(), 120u);
}

TEST_F(CacheRootsTest, ExplainsAMissByTheFirstFieldOfTheNearestEntry) {
  const Sample near = make_sample(4096), far = make_sample(7);
  fill("own", near);
  fill("own", far);
  const auto roots = open(cat("rw:", folder_ / "own"));
  const MissReason reason = explain_miss(*roots, make_sample(4097).key, kSampleCompiler);
  EXPECT_EQ(reason.entries, 2u);
  EXPECT_EQ(reason.field, "source");
  EXPECT_EQ(reason.here, "constexpr int COLS = 4097;");
  EXPECT_TRUE(reason.there.starts_with("constexpr int COLS = "));
  EXPECT_EQ(reason.line, 1);

  ArtifactKey other_options = make_key(KeyFields{"copy",
                                                 "constexpr int COLS = 4096;\n",
                                                 {"-arch=sm_90a", "--std=c++17"},
                                                 "sm_90a",
                                                 Artifact::Kind::cubin,
                                                 near.artifact.argument_schema});
  const MissReason options = explain_miss(*roots, other_options, kSampleCompiler);
  EXPECT_EQ(options.field, "options");
  EXPECT_EQ(options.spelling, near.artifact.spelling);
  EXPECT_EQ(options.here, "--std=c++17");
  EXPECT_EQ(options.there, "--std=c++20");

  const MissReason compiler = explain_miss(*roots, near.key, "nvrtc-14.0");
  EXPECT_EQ(compiler.field, "compiler");
  EXPECT_EQ(compiler.here, "nvrtc-14.0");
  EXPECT_EQ(compiler.there, kSampleCompiler);
}

// A root whose file system turned read-only under it.
TEST_F(CacheRootsTest, WhatOneRootRefusesTheNextTakes) {
  bool refuses = false;
  FakeFileSystem files([&](const testing::FileCall& call) {
    const bool making = call.name == "open_at" && (call.flags & (O_CREAT | O_TMPFILE)) != 0;
    return testing::FileFault{making && std::exchange(refuses, false) ? EROFS : 0};
  });
  const auto roots = open(cat("rw:", folder_ / "a", ",rw:", folder_ / "b"), files);
  const Sample sample = make_sample(1);
  EXPECT_EQ(roots->writable()->root(), folder_ / "a");
  ASSERT_TRUE(roots->refusing().empty());
  refuses = true;
  DiskCache* const taker = roots->publish(sample.key, sample.artifact);
  ASSERT_NE(taker, nullptr);
  EXPECT_EQ(taker->root(), folder_ / "b");
  EXPECT_EQ(roots->writable(), taker);
  ASSERT_EQ(roots->refusing().size(), 1u);
  EXPECT_EQ(roots->refusing()[0]->root(), folder_ / "a");
  EXPECT_TRUE(roots->find(sample.key, kSampleCompiler));
}

TEST_F(CacheRootsTest, WhetherARootCanBeWrittenIsTriedWithoutATrace) {
  int error = 0;
  FakeFileSystem files([&](const testing::FileCall& call) {
    return testing::FileFault{call.name == "write_at" ? error : 0};
  });
  const auto roots = open(cat("rw:", folder_ / "a"), files);
  const auto before = testing::tree(folder_ / "a");
  EXPECT_TRUE(roots->writable()->check_writing());
  error = ENOSPC;
  const auto full = roots->writable()->check_writing();
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().what.find("No space left on device"), std::string::npos);
  EXPECT_TRUE(roots->writable()->writable());  // it may have room in a moment
  error = EROFS;
  EXPECT_FALSE(roots->writable()->check_writing());
  EXPECT_FALSE(roots->writable()->writable());
  EXPECT_EQ(testing::tree(folder_ / "a"), before);
}

// A request that differs from one entry in its last constant and from another in all but its first.
TEST_F(CacheRootsTest, TheNearestEntryIsThatWithTheFewestDifferentLines) {
  const auto key = [](const std::string& source) {
    const Artifact& like = make_sample(0).artifact;
    return make_key(KeyFields{"copy", source, {}, "sm_90a", like.kind, like.argument_schema});
  };
  Sample near = make_sample(1), far = make_sample(2);
  near.key = key("int A = 9;\nint B = 1;\nint C = 1;\n");
  far.key = key("int A = 1;\nint B = 2;\nint C = 2;\n");
  fill("own", near);
  fill("own", far);
  const auto roots = open(cat("rw:", folder_ / "own"));
  const auto wanted = key("int A = 1;\nint B = 1;\nint C = 1;\n");
  const MissReason reason = explain_miss(*roots, wanted, kSampleCompiler);
  EXPECT_EQ(reason.spelling, near.artifact.spelling);
  EXPECT_EQ(reason.line, 1);
  EXPECT_EQ(reason.there, "int A = 9;");
}

TEST_F(CacheRootsTest, ExplainsThatTheVeryEntryIsDamaged) {
  const Sample sample = make_sample(1);
  fill("own", sample);
  const std::string file = cat(folder_ / "own", "/v1/", kSampleCompiler, "/",
                               shard_name(sample.key.digest), "/", entry_name(sample.key.digest));
  std::string bytes = testing::text_of(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  testing::write_text(file, bytes);
  const auto roots = open(cat("rw:", folder_ / "own"));
  const MissReason reason = explain_miss(*roots, sample.key, kSampleCompiler);
  EXPECT_EQ(reason.own_fault, EntryFault::bad_checksum);
  EXPECT_EQ(reason.own_root, folder_ / "own");
  EXPECT_EQ(explain_miss(*roots, sample.key, "nvrtc-14.0").own_fault, EntryFault::none);
  EXPECT_EQ(explain_miss(*roots, make_sample(2).key, kSampleCompiler).own_fault, EntryFault::none);
}

TEST(CompilerIdentity, NumbersAreComparedAsNumbers) {
  EXPECT_TRUE(is_older_identity("nvrtc-12.9.41-ff", "nvrtc-12.10.2-00"));
  EXPECT_FALSE(is_older_identity("nvrtc-12.10.2-00", "nvrtc-12.9.41-ff"));
  EXPECT_TRUE(is_older_identity("nvrtc-12.9", "nvrtc-12.9.1"));
  EXPECT_TRUE(is_older_identity("a", "b"));
  EXPECT_FALSE(is_older_identity("a", "a"));
  EXPECT_TRUE(is_older_identity("nvrtc-13.0-ff-env01234567", "nvrtc-12.9-00"));  // last of all
  EXPECT_FALSE(is_older_identity("nvrtc-13.0-ff", "nvrtc-13.0-ff-env01234567"));
  EXPECT_TRUE(is_older_identity("a01", "a1") != is_older_identity("a1", "a01"));
}

}  // namespace
}  // namespace diecast
