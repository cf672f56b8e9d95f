// What is made ahead comes in order, once, on a few threads or on none.
#include <diecast/runtime/ahead.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <set>
#include <system_error>
#include <thread>

#include "child_process.h"
#include "signal_mask.h"

namespace diecast {
namespace {

using std::chrono::microseconds;

// Whether all come in order.
bool in_order(std::size_t count, const std::function<Result<std::size_t>(std::size_t)>& make) {
  Ahead<std::size_t> ahead(count, make);
  for (std::size_t i = 0; i < count; ++i) {
    if (ahead.take(i).value() != i) return false;
  }
  return true;
}

TEST(Ahead, GivesEveryOneOnceInOrderHoweverLongEachTakes) {
  std::vector<std::atomic<int>> made(200);
  EXPECT_TRUE(in_order(made.size(), [&](std::size_t i) -> Result<std::size_t> {
    ++made[i];
    std::this_thread::sleep_for(microseconds(i * 7919 % 1000));
    return i;
  }));
  for (const auto& times : made) EXPECT_EQ(times, 1);
}

TEST(Ahead, MakesAFewOnTheCallersThread) {
  std::set<std::thread::id> threads;
  EXPECT_TRUE(in_order(Ahead<std::size_t>::kShare - 1, [&](std::size_t i) -> Result<std::size_t> {
    threads.insert(std::this_thread::get_id());
    return i;
  }));
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(Ahead, LeavesSignalsToTheApplication) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core: no thread but this";
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> begun = false, taken = false;
  EXPECT_TRUE(in_order(100, [&](std::size_t i) -> Result<std::size_t> {
    if (std::this_thread::get_id() != caller) {
      taken = taken || testing::takes(SIGUSR1);
      begun = true;
    }
    while (!begun) std::this_thread::yield();
    return i;
  }));
  EXPECT_FALSE(taken);
}

TEST(Ahead, LeavesWhatIsNotBegunWhenItsOwnerGoes) {
  std::atomic<int> made = 0;
  {
    Ahead<int> ahead(1000, [&](std::size_t i) -> Result<int> {
      ++made;
      if (i == 5) return Error{ErrorCode::internal, "the sixth", "none"};
      std::this_thread::sleep_for(microseconds(200));
      return 0;
    });
    for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(ahead.take(i));
    EXPECT_EQ(ahead.take(5).error().what, "the sixth");
  }
  EXPECT_LT(made, 500);
}

TEST(Ahead, NeedsNoThread) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer ends where there are no threads";
#endif
  const int outcome = testing::in_child([] {
    // Root may have as many threads as it likes.
    if (::geteuid() == 0 && !testing::become(testing::kNobody)) return 2;
    const struct rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) return 2;
    try {
      std::thread([] {}).join();
      return 2;
    } catch (const std::system_error&) {
    }
    const auto caller = std::this_thread::get_id();
    return in_order(100,
                    [&](std::size_t i) -> Result<std::size_t> {
                      return std::this_thread::get_id() == caller ? i : 1000;
                    })
               ? 0
               : 1;
  });
  if (outcome == 2) GTEST_SKIP() << "threads cannot be forbidden here";
  EXPECT_EQ(outcome, 0);
}

}  // namespace
}  // namespace diecast
