// Locks that forks take: any thread may make and end them meanwhile.
#include <diecast/base/fork.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

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

}  // namespace
}  // namespace diecast
