// Threads of the library: what they take of the application's signals, and what becomes of work
// that throws.
#include <diecast/base/side_by_side.h>
#include <diecast/base/thread.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>

#include "signal_mask.h"

namespace diecast {
namespace {

using testing::takes;

TEST(Thread, LeavesSignalsToTheApplicationAndTakesItsOwnFaults) {
  bool sent = true, fault = false;
  start_thread([&] {
    sent = takes(SIGUSR1) || takes(SIGTERM) || takes(SIGCHLD);
    fault = takes(SIGSEGV) && takes(SIGBUS) && takes(SIGFPE);
  }).join();
  EXPECT_FALSE(sent);
  EXPECT_TRUE(fault);
  EXPECT_TRUE(takes(SIGUSR1));  // this thread as before
}

TEST(SideBySide, LeavesSignalsToTheCaller) {
  std::mutex mutex;
  std::set<std::thread::id> taking;
  run_side_by_side(4, [&] {
    const std::lock_guard lock(mutex);
    if (takes(SIGUSR1)) taking.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(taking, std::set{std::this_thread::get_id()});
}

TEST(SideBySide, ThrowsTheFirstOfWhatIsThrownOnceAllAreDone) {
  std::atomic<int> begun = 0, done = 0;
  const auto work = [&] {
    if (begun++ % 2 == 0) throw std::runtime_error("one");
    ++done;
  };
  EXPECT_THROW(run_side_by_side(4, work), std::runtime_error);
  EXPECT_EQ(begun, 4);
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace diecast
