// Many processes and threads on one key: one compile, one good entry, nothing left behind, and no
// lock that outlives its holder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cache/disk_cache_fixture.h"
#include "child_process.h"
#include "fake_file_system.h"

namespace diecast {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::kSampleCompiler;
using testing::make_sample;
using testing::same;
using testing::Sample;
using testing::start_child;
using testing::tree;
using testing::wait_for_child;
using Clock = std::chrono::steady_clock;

class SingleFlight : public testing::DiskCacheTest {
 protected:
  DiskCache::Lock try_lock(DiskCache& cache) {
    return cache.lock(sample_.key, milliseconds(0), {});
  }
  // Whether another process gets the lock at once.
  bool is_free() {
    return wait_for_child(start_child([&] {
             const auto cache = DiskCache::open(folder_ / "cache").value();
             return try_lock(*cache).held() ? 0 : 1;
           })) == 0;
  }
  const Sample sample_ = make_sample(1, 5000);
};

// Waits until somebody closes the pipe's writing end or writes.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() { close_both(); }
  void close_both() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void signal() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  void wait() const {
    char text;
    EXPECT_GE(::read(ends[0], &text, 1), 0);
  }
  int ends[2];
};

TEST_F(SingleFlight, CompilesOnceInSixteenProcesses) {
  const std::string counter = folder_ / "compiles";
  const auto worker = [&] {
    const auto cache = DiskCache::open(folder_ / "cache").value();
    const auto ready = [&] { return cache->find(sample_.key, kSampleCompiler).has_value(); };
    if (ready()) return 0;
    const DiskCache::Lock lock = cache->lock(sample_.key, seconds(30), ready);
    const auto found = cache->find(sample_.key, kSampleCompiler);
    if (found) return same(*found, sample_.artifact) ? 0 : 1;
    if (!lock.held()) return 2;
    const int file = ::open(counter.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (::write(file, "x", 1) != 1) return 3;
    std::this_thread::sleep_for(milliseconds(50));
    return cache->publish(sample_.key, sample_.artifact) ? 0 : 4;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) children.push_back(start_child(worker));
  for (const pid_t child : children) EXPECT_EQ(wait_for_child(child), 0);
  EXPECT_EQ(testing::text_of(counter), "x");
  EXPECT_TRUE(hit(sample_));
}

TEST_F(SingleFlight, LeavesOneGoodEntryWhenEverybodyPublishes) {
  constexpr int kProcesses = 8, kThreads = 4, kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    const Sample sample = make_sample(100 + round, 20000);
    // Each writer's bytes differ a little, as a compiler's may: any of them is right.
    const auto artifact_of = [&](int writer) {
      Artifact artifact = sample.artifact;
      artifact.log = std::to_string(writer);
      return artifact;
    };
    const auto process = [&](int number) {
      const auto cache = DiskCache::open(folder_ / "cache").value();
      std::atomic<int> failures = 0;
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
          const Artifact artifact = artifact_of(number * kThreads + i);
          if (!cache->publish(sample.key, artifact)) ++failures;
          const auto found = cache->find(sample.key, kSampleCompiler);
          if (!found || found->payload != sample.artifact.payload) ++failures;
        });
      }
      for (std::thread& thread : threads) thread.join();
      return failures.load();
    };
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i)
      children.push_back(start_child([&] { return process(i); }));
    for (const pid_t child : children) EXPECT_EQ(wait_for_child(child), 0);
    const auto found = cache_->find(sample.key, kSampleCompiler);
    ASSERT_TRUE(found);
    EXPECT_TRUE(same(*found, artifact_of(std::stoi(found->log))));
  }
  for (const std::string& name : tree(folder_ / "cache")) {
    EXPECT_EQ(name.find("/."), std::string::npos) << name;
  }
  EXPECT_EQ(cache_->list().value().size(), std::size_t{kRounds});
}

TEST_F(SingleFlight, FreesTheKeyAtOnceWhenItsHolderIsKilled) {
  for (int round = 0; round < 5; ++round) {
    Pipe locked;
    const pid_t holder = start_child([&] {
      const auto cache = DiskCache::open(folder_ / "cache").value();
      const DiskCache::Lock lock = try_lock(*cache);
      if (lock.held()) locked.signal();
      std::this_thread::sleep_for(seconds(100));
      return 0;
    });
    locked.wait();
    EXPECT_FALSE(try_lock(*cache_).held());
    Clock::time_point killed;
    std::thread killer([&] {
      std::this_thread::sleep_for(milliseconds(30));
      killed = Clock::now();
      ::kill(holder, SIGKILL);
    });
    const DiskCache::Lock lock = cache_->lock(sample_.key, seconds(30), {});
    const auto taken = Clock::now();
    killer.join();
    EXPECT_EQ(wait_for_child(holder), 128 + SIGKILL);
    EXPECT_TRUE(lock.held());
    EXPECT_LT(taken - killed, seconds(5));  // a pause between tries, on a busy machine
  }
}

TEST_F(SingleFlight, FreesTheKeyWhenItsHolderIsKilledThoughAForkedChildLives) {
  Pipe forked, finish;
  const pid_t holder = start_child([&] {
    const auto cache = DiskCache::open(folder_ / "cache").value();
    const DiskCache::Lock lock = try_lock(*cache);
    if (!lock.held()) return 1;
    const pid_t child = start_child([&] {
      ::close(finish.ends[1]);
      forked.signal();
      finish.wait();
      return 0;
    });
    return wait_for_child(child);
  });
  forked.wait();
  EXPECT_FALSE(is_free()) << "the child's copy unlocks nothing";
  ::kill(holder, SIGKILL);
  EXPECT_EQ(wait_for_child(holder), 128 + SIGKILL);
  EXPECT_TRUE(is_free());
}

// One that fork's handlers know nothing of.
TEST_F(SingleFlight, FreesTheKeyOnReleaseThoughAForkedChildHasTheSameOpenFile) {
  DiskCache::Lock lock = try_lock(*cache_);
  ASSERT_TRUE(lock.held());
  Pipe finish;
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    ::close(finish.ends[1]);
    finish.wait();
    ::_exit(0);
  }
  EXPECT_FALSE(is_free());
  lock = DiskCache::Lock();
  EXPECT_TRUE(is_free());
  finish.close_both();
  EXPECT_EQ(wait_for_child(child), 0);
}

TEST_F(SingleFlight, IsNotFreedByAForkedChildsCopyOfTheLock) {
  DiskCache::Lock lock = try_lock(*cache_);
  ASSERT_TRUE(lock.held());
  EXPECT_EQ(testing::in_child([&] {
              lock = DiskCache::Lock();
              return 0;
            }),
            0);
  EXPECT_FALSE(is_free());
  lock = DiskCache::Lock();
  EXPECT_TRUE(is_free());
}

TEST_F(SingleFlight, HasOneHolderAmongThreads) {
  std::atomic<int> inside = 0, most = 0, turns = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) {
        const DiskCache::Lock lock = cache_->lock(sample_.key, seconds(30), {});
        if (!lock.held()) continue;
        const int now = ++inside;
        if (now > most) most = now;
        ++turns;
        std::this_thread::sleep_for(milliseconds(1));
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(turns, 40);
  EXPECT_GT(cache_->statistics().lock_waits, 0u);
  EXPECT_EQ(cache_->statistics().lock_timeouts, 0u);
}

TEST_F(SingleFlight, LocksKeysApart) {
  const Sample other = make_sample(2);
  const DiskCache::Lock one = try_lock(*cache_);
  const DiskCache::Lock two = cache_->lock(other.key, milliseconds(0), {});
  EXPECT_TRUE(one.held());
  EXPECT_TRUE(two.held());
  EXPECT_EQ(cache_->statistics().lock_waits, 0u);
}

TEST_F(SingleFlight, EndsItsWaitAtTheDeadlineAndWhenTheEntryIsReady) {
  const DiskCache::Lock holder = try_lock(*cache_);
  const auto start = Clock::now();
  EXPECT_FALSE(cache_->lock(sample_.key, milliseconds(60), {}).held());
  EXPECT_GE(Clock::now() - start, milliseconds(60));
  EXPECT_EQ(cache_->statistics().lock_timeouts, 1u);
  int asked = 0;
  EXPECT_FALSE(cache_->lock(sample_.key, seconds(30), [&] { return ++asked == 3; }).held());
  EXPECT_EQ(asked, 3);
  EXPECT_LT(Clock::now() - start, seconds(20));
  EXPECT_EQ(cache_->statistics().lock_timeouts, 1u);
  EXPECT_EQ(cache_->statistics().lock_waits, 2u);
}

TEST_F(SingleFlight, GoesOnWithoutALockWhereThereAreNone) {
  for (const int error : {ENOLCK, EOPNOTSUPP, EINVAL, EROFS, EIO}) {
    testing::FakeFileSystem files(testing::FakeFileSystem::refuse("try_lock", error));
    const auto cache = DiskCache::open(folder_ / "cache", files).value();
    const auto start = Clock::now();
    EXPECT_FALSE(cache->lock(sample_.key, seconds(30), {}).held());
    EXPECT_LT(Clock::now() - start, seconds(5));
    EXPECT_EQ(cache->statistics().lock_failures, 1u);
  }
}

TEST_F(SingleFlight, KeepsNothingOpenAfterManyLocks) {
  const std::size_t before = testing::open_descriptors();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(try_lock(*cache_).held());
  DiskCache::Lock moved = try_lock(*cache_);
  DiskCache::Lock lock = std::move(moved);
  EXPECT_FALSE(moved.held());
  EXPECT_TRUE(lock.held());
  lock = DiskCache::Lock();
  EXPECT_EQ(testing::open_descriptors(), before);
  EXPECT_EQ(::unlink((folder_ / "cache/v1/lock").c_str()), 0);
}

}  // namespace
}  // namespace diecast
