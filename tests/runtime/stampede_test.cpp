// Many processes with runtimes of their own on one cold root: one compile a key, no failure, and
// the same bytes for everybody.
//
// P-05, R-01, R-03, R-15. A sample of each every day; DIECAST_TEST_VARIANTS=all runs the whole, the
// label `soak` more of it.
#include <diecast/base/text.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>

#include "child_process.h"
#include "fake_file_system.h"
#include "how_many.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using std::chrono::milliseconds;
using testing::FakeFileSystem;
using testing::FakeNvrtc;
using testing::how_many;
using testing::kAmax;
using testing::start_child;
using testing::wait_for_child;

class Stampede : public ::testing::Test {
 protected:
  // Every round has a root and a journal of its own.
  RuntimeOptions begin(int round) {
    nvrtc_.set("JOURNAL", journal_ = folder_ / cat("journal", round));
    RuntimeOptions options;
    options.nvrtc = nvrtc_.search();
    options.cache = folder_ / cat("cache", round);
    return options;
  }
  std::size_t compiles() const { return split(testing::text_of(journal_), '\n').size() - 1; }

  static void run_processes(int count, const std::function<int(int)>& body) {
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) children.push_back(start_child([&, i] { return body(i); }));
    for (const pid_t child : children) EXPECT_EQ(wait_for_child(child), 0);
  }

  testing::TemporaryDirectory folder_{testing::memory_directory()};
  FakeNvrtc nvrtc_;
  std::string journal_;
};

TEST_F(Stampede, AColdKeyIsCompiledOnceByHoweverManyAskForIt) {
  const int rounds = how_many(1, 20, 1000), processes = how_many(16, 64, 64), threads = 16;
  nvrtc_.set("SLEEP_MS", "50");
  for (int round = 0; round < rounds; ++round) {
    const RuntimeOptions options = begin(round);
    run_processes(processes, [&](int) {
      const auto runtime = Runtime::create(options).value();
      const auto one = runtime->specialize(kAmax).value();
      std::atomic<int> wrong = 0;
      std::vector<std::thread> asking;
      for (int i = 0; i < threads; ++i)
        asking.emplace_back([&] { wrong += !runtime->resolve(one); });
      for (std::thread& thread : asking) thread.join();
      return wrong.load();
    });
    ASSERT_EQ(compiles(), 1u) << round;
    ASSERT_FALSE(HasFailure()) << round;
    std::filesystem::remove_all(options.cache);
  }
  std::cout << rounds << " rounds of " << processes << " x " << threads << ": 1 compile each\n";
}

// Triton's reproducer: 16 processes, 8 keys, 60 rounds, all at once; 27 of 7,680 failed there. Half
// of the processes wait for no lock: then only the publishing protects them.
TEST_F(Stampede, SixteenProcessesOnEightKeysNeverFail) {
  const int rounds = how_many(6, 60, 1200), processes = 16, keys = 8;
  const auto spelling = [](int key) { return cat("amax IN=bf16 COLS=", 16 * key, " @ sm_90a"); };
  std::map<int, Bytes> code;
  {
    const auto runtime = Runtime::create(begin(-1)).value();
    for (int key = 0; key < keys; ++key) {
      code[key] = runtime->resolve(runtime->specialize(spelling(key)).value())->artifact->payload;
    }
  }
  for (int round = 0; round < rounds; ++round) {
    RuntimeOptions options = begin(round);
    run_processes(processes, [&](int number) {
      options.lock_wait = number % 2 == 0 ? milliseconds(30000) : milliseconds(0);
      const auto runtime = Runtime::create(options).value();
      for (int i = 0; i < keys; ++i) {
        const int key = (i + number) % keys;
        const auto found = runtime->resolve(runtime->specialize(spelling(key)).value());
        if (!found || found->artifact->payload != code[key]) return 1;
      }
      runtime->flush();
      const CacheStatistics cache = runtime->cache()->writable()->statistics();
      return cache.rejected + cache.publish_failures == 0 ? 0 : 2;
    });
    ASSERT_FALSE(HasFailure()) << round;
    ASSERT_GE(compiles(), 8u);
    std::filesystem::remove_all(options.cache);
  }
  std::cout << "0 failures of " << rounds * processes * keys << "\n";
}

// nodes whose locks the others do not see, or a disk without any. Each compiles once at most,
// and all have what the first one published.
TEST_F(Stampede, WithoutLocksEveryProcessCompilesOnceAtMost) {
  nvrtc_.set("SLEEP_MS", "30");
  const int processes = how_many(8, 32, 32), rounds = how_many(1, 10, 200);
  for (int round = 0; round < rounds; ++round) {
    RuntimeOptions options = begin(round);
    run_processes(processes, [&](int) {
      FakeFileSystem without_locks(FakeFileSystem::refuse("try_lock", ENOLCK));
      options.files = &without_locks;
      const auto runtime = Runtime::create(options).value();
      const auto one = runtime->specialize(kAmax).value();
      std::atomic<int> wrong = 0;
      std::vector<std::thread> asking;
      for (int i = 0; i < 8; ++i) asking.emplace_back([&] { wrong += !runtime->resolve(one); });
      for (std::thread& thread : asking) thread.join();
      runtime->flush();
      const CacheStatistics cache = runtime->cache()->writable()->statistics();
      return wrong + static_cast<int>(cache.publish_failures + cache.rejected) +
             (runtime->counters().compiled <= 1 ? 0 : 50);
    });
    ASSERT_LE(compiles(), static_cast<std::size_t>(processes));
    EXPECT_EQ(DiskCache::open(options.cache).value()->list().value().size(), 1u);
    ASSERT_FALSE(HasFailure()) << round;
  }
}

// P-05, E-11: whoever waits gives up at the deadline; the holder that goes on finds the key taken.
TEST_F(Stampede, AStoppedHolderHoldsNobodyUpBeyondTheDeadline) {
  nvrtc_.set("SLEEP_MS", "300");
  RuntimeOptions options = begin(0);
  const auto resolve = [](const RuntimeOptions& with) {
    const auto runtime = Runtime::create(with).value();
    const auto resolved = runtime->resolve(runtime->specialize(kAmax).value());
    runtime->flush();
    const CacheStatistics cache = runtime->cache()->writable()->statistics();
    if (!resolved || cache.publish_failures != 0) return 99;
    return static_cast<int>(cache.already_there + 2 * cache.lock_timeouts);
  };
  const pid_t holder = start_child([&] { return resolve(options); });
  for (int i = 0; i < 60000 && !std::filesystem::exists(journal_); ++i)
    std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(std::filesystem::exists(journal_)) << "it never compiled";
  ASSERT_EQ(::kill(holder, SIGSTOP), 0);  // it compiles, under the key's lock
  options.lock_wait = milliseconds(200);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(resolve(options), 2);  // a timeout; published by itself
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  ASSERT_EQ(::kill(holder, SIGCONT), 0);
  EXPECT_EQ(wait_for_child(holder), 1);  // already there: that is success
  EXPECT_EQ(compiles(), 2u);
  const auto cache = DiskCache::open(options.cache).value();
  EXPECT_EQ(cache->list().value().size(), 1u);
}

}  // namespace
}  // namespace diecast
