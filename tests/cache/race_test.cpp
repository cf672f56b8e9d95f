// Entries stay whole while their writers, readers and collectors are killed at random: a process of
// its own reads everything there is, over and over, and knows what every byte should be.
//
// P-02, P-17, R-04, R-06. A sample every day; DIECAST_TEST_VARIANTS=all runs the whole, the
// label `soak` more of it. Races without kills are in runtime/stampede_test.cpp.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "cache/disk_cache_fixture.h"
#include "child_process.h"
#include "how_many.h"

namespace diecast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::how_many;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::same;
using testing::Sample;
using testing::start_child;
using testing::wait_for_child;

constexpr int kKeys = 40;

// What a worker, which runs until it is killed, ends itself with.
enum Ended { kRejected = 1, kWrongBytes = 2, kPublishFailed = 3 };

class Race : public ::testing::Test {
 protected:
  // The sample of this number whose payload has this one's size: its bytes may be no others.
  static bool is_sample(int number, const Artifact& found) {
    return same(found, make_sample(number, found.payload.size()).artifact);
  }
  static bool is_sample(const StoredEntry& stored) {
    const std::string& spelling = stored.decoded.artifact.spelling;  // copy COLS=7 @ sm_90a
    int number = -1;
    std::from_chars(spelling.data() + spelling.find('=') + 1, spelling.data() + spelling.size(),
                    number);
    return number >= 0 && number < kKeys && is_sample(number, stored.decoded.artifact) &&
           stored.name == make_sample(number).key.hex() + ".dce";
  }

  int work(unsigned seed) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::mt19937 random(seed);
    const auto cache = DiskCache::open(path_).value();
    for (;;) {
      const int number = static_cast<int>(random() % kKeys);
      const Sample sample = make_sample(number, 500 + random() % 9000);
      const std::uint32_t dice = random() % 100;
      if (dice < 60) {
        const auto lock = cache->lock(sample.key, milliseconds(1), {});
        if (!cache->publish(sample.key, sample.artifact)) return kPublishFailed;
      } else if (dice < 90) {
        const auto found = cache->find(sample.key, kSampleCompiler);
        if (found && !is_sample(number, *found)) return kWrongBytes;
        if (cache->statistics().rejected != 0) return kRejected;
      } else {
        PruneLimits limits;
        limits.bytes = 100000;
        limits.young = seconds(1);  // 0 would take living writers' temporaries too
        (void)cache->prune(limits);
      }
    }
  }

  // Reads until `stop` exists, and leaves "entries read, wrong ones" in `report`.
  int verify() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto cache = DiskCache::open(path_).value();
    std::uint64_t read = 0, wrong = 0;
    while (::access(stop_.c_str(), F_OK) != 0) {
      const auto all = cache->read_all([&](const StoredEntry& stored) {
        // Removed between the listing and the opening is fine; anything else is not.
        if (stored.decoded.fault == EntryFault::unreadable) return;
        ++read;
        wrong += stored.decoded.fault != EntryFault::none || !is_sample(stored);
      });
      if (!all) return 1;
    }
    testing::write_text(report_, cat(read, " ", wrong));
    return 0;
  }

  testing::TemporaryDirectory folder_{testing::memory_directory()};
  const std::string path_ = folder_ / "cache", stop_ = folder_ / "stop",
                    report_ = folder_ / "report";
};

TEST_F(Race, KilledAtRandomUnderLoadNothingIsEverTorn) {
  const int kills = how_many(150, 1500, 100000);
  std::mt19937 random(7);
  std::vector<pid_t> workers(4);
  unsigned seed = 0;
  const auto cache = DiskCache::open(path_).value();
  for (pid_t& child : workers) child = start_child([&, n = ++seed] { return work(n); });
  const pid_t verifier = start_child([&] { return verify(); });
  for (int kill = 0; kill < kills; ++kill) {
    pid_t& child = workers[random() % workers.size()];
    ::usleep(random() % 8000);
    ::kill(child, SIGKILL);
    const int ended = wait_for_child(child);
    EXPECT_EQ(ended, 128 + SIGKILL) << "it ended by itself: see Ended";
    if (ended != 128 + SIGKILL) break;
    child = start_child([&, n = ++seed] { return work(n); });
  }
  testing::write_text(stop_, "");
  EXPECT_EQ(wait_for_child(verifier), 0);
  for (const pid_t child : workers) ::kill(child, SIGKILL), wait_for_child(child);

  std::uint64_t read = 0, wrong = 1;
  std::istringstream(testing::text_of(report_)) >> read >> wrong;
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(read, 1000u);
  const Sample last = make_sample(1000);
  EXPECT_TRUE(cache->lock(last.key, milliseconds(0), {}).held());
  EXPECT_TRUE(cache->publish(last.key, last.artifact));
  EXPECT_FALSE(cache->clear().value().busy);
  for (const std::string& name : testing::tree(path_)) {
    EXPECT_TRUE(name.find(".dce") == name.npos && name.find(".t-") == name.npos) << name;
  }
  std::cout << kills << " kills, " << read << " entries read meanwhile, " << wrong << " torn\n";
}

// many processes want more than the root may hold, while it is collected.
TEST_F(Race, UnderACollectorTheRootEndsWithinItsSize) {
  const int processes = how_many(16, 64, 64), keys = 100, rounds = how_many(2, 4, 400);
  PruneLimits limits;
  limits.bytes = 60000;  // a third of it all
  limits.young = seconds(1);
  const auto cache = DiskCache::open(path_).value();
  const pid_t collector = start_child([&] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (::access(stop_.c_str(), F_OK) != 0) {
      if (!cache->prune(limits)) return 1;
    }
    return 0;
  });
  const auto use_all = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int> order(static_cast<std::size_t>(keys));
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const int number : order) {
        const Sample sample = make_sample(number, 500 + static_cast<std::size_t>(number) * 20);
        const auto found = cache->find(sample.key, kSampleCompiler);
        if (found && !same(*found, sample.artifact)) return static_cast<int>(kWrongBytes);
        if (!found && !cache->publish(sample.key, sample.artifact))
          return static_cast<int>(kPublishFailed);
      }
    }
    return cache->statistics().rejected == 0 ? 0 : static_cast<int>(kRejected);
  };
  std::vector<pid_t> users;
  for (int i = 0; i < processes; ++i)
    users.push_back(start_child([&, i] { return use_all(static_cast<unsigned>(i)); }));
  for (const pid_t user : users) EXPECT_EQ(wait_for_child(user), 0) << "see Ended";
  testing::write_text(stop_, "");
  EXPECT_EQ(wait_for_child(collector), 0);

  std::this_thread::sleep_for(milliseconds(2100));  // nothing is young any more, by whole seconds
  ASSERT_TRUE(cache->prune(limits));
  std::uint64_t bytes = 0, entries = 0;
  EXPECT_TRUE(cache->read_all([&](const StoredEntry& stored) {
    EXPECT_EQ(stored.decoded.fault, EntryFault::none) << stored.name;
    bytes += stored.file.size();
    ++entries;
  }));
  EXPECT_LE(bytes, limits.bytes);
  EXPECT_GE(entries * 4096, limits.bytes / 2);  // a file takes whole blocks
  std::cout << processes << " processes x " << keys << " keys x " << rounds
            << " under a collector: " << entries << " entries left, " << bytes << " bytes of "
            << limits.bytes << "\n";
}

}  // namespace
}  // namespace diecast
