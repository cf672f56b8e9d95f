// Locks and forks: any thread may make and end one meanwhile, and no child waits for its parent.
#include <diecast/base/fork.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "child_process.h"

namespace diecast {
namespace {

std::atomic<bool> forking = false;

// Keeps a fork in the middle of its work until another thread, which does not say so, waits for it.
struct SlowlyTaken {
  void lock() {
    forking = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  void unlock() {}
};

TEST(ForkSafe, EndsAndBeginsInAnotherThreadDuringAFork) {
  const int ended = testing::in_child([] {
    ::alarm(20);
    ForkSafe<SlowlyTaken> slow;
    auto ending = std::make_unique<ForkSafe<std::mutex>>();
    std::thread other([&] {
      while (!forking) std::this_thread::yield();
      ending.reset();
      ForkSafe<std::mutex> begun;
      std::lock_guard guard(begun);
    });
    const int in_its_child = testing::in_child([] { return 0; });
    other.join();
    return in_its_child;
  });
  EXPECT_EQ(ended, 0);
}

TEST(LongMutex, HasOneHolderAmongThreads) {
  LongMutex mutex;
  int turns = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 1000; ++turn) {
        const std::lock_guard guard(mutex);
        ++turns;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, 4000);
}

// In the child too: of its own threads one has it at a time.
TEST(LongMutex, IsTakenByAForkedChildFromItsParent) {
  LongMutex mutex;
  const std::lock_guard parents(mutex);
  const int ended = testing::in_child([&] {
    ::alarm(20);
    mutex.lock();
    std::atomic<bool> second = false;
    std::thread other([&] {
      const std::lock_guard guard(mutex);
      second = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const bool early = second;
    mutex.unlock();
    other.join();
    return early ? 1 : 0;
  });
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace diecast
