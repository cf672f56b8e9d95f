// What may stand under an entry's name: damage, other keys' entries, files that are none, files of
// other users. All of it is a miss; only damage is ever replaced.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cache/disk_cache_fixture.h"
#include "child_process.h"

namespace diecast {
namespace {

using testing::make_sample;
using testing::mode_of;
using testing::Sample;
using testing::text_of;
using testing::tree;
using testing::write_text;

class HostileEntry : public testing::DiskCacheTest {};

TEST_F(HostileEntry, ReplacesADamagedEntryThatItHasMet) {
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  const std::string path = path_of(sample), whole = text_of(path);
  for (const std::string& damaged :
       {std::string(), std::string("x"), whole.substr(0, 128), whole.substr(0, whole.size() - 1),
        whole + "x", std::string(whole.size(), '\0')}) {
    write_text(path, damaged);
    EXPECT_FALSE(hit(sample));
    EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
    EXPECT_TRUE(hit(sample));
    EXPECT_EQ(text_of(path), whole);
  }
  EXPECT_EQ(cache_->statistics().replaced, 6u);
  EXPECT_EQ(cache_->statistics().rejected, 6u);
  EXPECT_EQ(faults(EntryFault::too_short), 2u);
  EXPECT_EQ(tree(folder_ / "cache").size(), 6u);
}

TEST_F(HostileEntry, LeavesADamagedEntryThatAnotherProcessHasMended) {
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  const std::string path = path_of(sample), whole = text_of(path);
  write_text(path, "damaged");
  EXPECT_FALSE(hit(sample));
  write_text(folder_ / "new", whole);
  ASSERT_EQ(::chmod((folder_ / "new").c_str(), 0600), 0);
  ASSERT_EQ(::rename((folder_ / "new").c_str(), path.c_str()), 0);
  struct stat before = {}, after = {};
  ::stat(path.c_str(), &before);
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  ::stat(path.c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(cache_->statistics().already_there, 1u);
  EXPECT_EQ(cache_->statistics().replaced, 0u);
  write_text(path, "damaged");
  EXPECT_FALSE(hit(sample));
  ASSERT_EQ(::unlink(path.c_str()), 0);  // or collected meanwhile
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  EXPECT_TRUE(hit(sample));
}

TEST_F(HostileEntry, RejectsAnotherKeysEntryUnderTheName) {
  const Sample one = make_sample(1), two = make_sample(2);
  EXPECT_TRUE(cache_->publish(one.key, one.artifact));
  EXPECT_TRUE(cache_->publish(two.key, two.artifact));
  const std::string text_one = text_of(path_of(one));
  write_text(path_of(one), text_of(path_of(two)));
  write_text(path_of(two), text_one);
  EXPECT_FALSE(hit(one));
  EXPECT_FALSE(hit(two));
  EXPECT_EQ(faults(EntryFault::other_key), 2u);
  EXPECT_TRUE(cache_->publish(one.key, one.artifact));
  EXPECT_TRUE(hit(one));
}

TEST_F(HostileEntry, GivesTwoKeysOfOneDigestEachTheirOwn) {
  Sample one = make_sample(1);
  const Sample two = make_sample(2);
  one.key.digest = two.key.digest;
  for (int round = 0; round < 3; ++round) {
    for (const Sample* sample : {static_cast<const Sample*>(&one), &two}) {
      EXPECT_FALSE(hit(*sample));
      EXPECT_TRUE(cache_->publish(sample->key, sample->artifact));
      EXPECT_TRUE(hit(*sample));
    }
  }
}

TEST_F(HostileEntry, KeepsAnEntryOfAnotherVersion) {
  const Sample sample = make_sample();
  Bytes file = encode_entry(sample.key, sample.artifact).value();
  file[8] = std::byte{2};
  const Digest digest = xxh3_128(ByteSpan(file).first(112));
  for (std::size_t i = 0; i < 8; ++i) {
    file[112 + i] = static_cast<std::byte>(digest.high >> (8 * i));
    file[120 + i] = static_cast<std::byte>(digest.low >> (8 * i));
  }
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  write_text(path_of(sample), text);
  EXPECT_FALSE(hit(sample));
  EXPECT_EQ(faults(EntryFault::other_version), 1u);
  EXPECT_FALSE(cache_->publish(sample.key, sample.artifact));
  EXPECT_EQ(cache_->statistics().publish_error, -EEXIST);
  EXPECT_EQ(text_of(path_of(sample)), text);
}

// None of these hangs, is read for its content, or is removed.
TEST_F(HostileEntry, PassesOverWhatIsNoFile) {
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  const std::string path = path_of(sample), away = folder_ / "away";
  ASSERT_EQ(::rename(path.c_str(), away.c_str()), 0);
  const auto passed_over = [&](const char* what) {
    const mode_t mode = mode_of(path);
    EXPECT_NE(mode, 0u) << what;
    EXPECT_FALSE(hit(sample)) << what;
    EXPECT_FALSE(cache_->publish(sample.key, sample.artifact)) << what;
    EXPECT_EQ(mode_of(path), mode) << what;
    ASSERT_TRUE(cache_->read_all([&](const StoredEntry& stored) {
      EXPECT_EQ(stored.decoded.fault, EntryFault::not_a_file) << what;
    }));
    ::remove(path.c_str());
  };
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  passed_over("fifo");
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  passed_over("directory");
  ASSERT_EQ(::symlink(away.c_str(), path.c_str()), 0);
  passed_over("link to a good entry");
  ASSERT_EQ(::symlink("/nowhere", path.c_str()), 0);
  passed_over("dangling link");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  passed_over("socket");
  ::close(socket);
  EXPECT_EQ(faults(EntryFault::not_a_file), 5u);
}

TEST_F(HostileEntry, ReadsNoMoreThanAnEntryMayHave) {
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  ASSERT_EQ(::truncate(path_of(sample).c_str(), off_t{1} << 36), 0);  // a hole
  EXPECT_FALSE(hit(sample));
  EXPECT_EQ(faults(EntryFault::bad_length), 1u);
}

TEST_F(HostileEntry, RejectsAnEntryThatOthersMayWriteOrOwn) {
  const Sample sample = make_sample();
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));
  const std::string path = path_of(sample);
  for (const mode_t mode : {0620u, 0602u, 0666u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_FALSE(hit(sample)) << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_TRUE(hit(sample));
  EXPECT_EQ(faults(EntryFault::not_private), 3u);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(hit(sample));
  EXPECT_TRUE(cache_->publish(sample.key, sample.artifact));  // by a file of our own
  EXPECT_EQ(mode_of(path) & 0777, 0600u);
  EXPECT_TRUE(hit(sample));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(::chown(path.c_str(), testing::kNobody, testing::kNobody), 0);
  EXPECT_FALSE(hit(sample));
}

// What others may write in these folders is not used, and nothing is put there.
TEST_F(HostileEntry, RejectsFoldersThatOthersMayWrite) {
  const Sample sample = make_sample();
  ASSERT_TRUE(cache_->publish(sample.key, sample.artifact));
  const std::string path = path_of(sample), shard = path.substr(0, path.rfind('/'));
  for (const std::string& folder : {shard, shard.substr(0, shard.rfind('/'))}) {
    ASSERT_EQ(::chmod(folder.c_str(), 0770), 0);
    const auto other_process = DiskCache::open(cache_->root()).value();
    EXPECT_FALSE(other_process->find(sample.key, sample.artifact.compiler)) << folder;
    EXPECT_FALSE(other_process->publish(sample.key, sample.artifact)) << folder;
    const auto faults = other_process->statistics().faults;
    EXPECT_EQ(faults[static_cast<std::size_t>(EntryFault::not_private)], 1u);
    EXPECT_TRUE(other_process->list().value().empty());
    ASSERT_TRUE(other_process->read_all([&](const StoredEntry& stored) {
      EXPECT_EQ(stored.decoded.fault, EntryFault::not_private) << folder;
    }));
    EXPECT_TRUE(other_process->writable()) << "it is one folder's trouble";
    ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
    EXPECT_TRUE(hit(sample)) << folder;
  }
}

}  // namespace
}  // namespace diecast
