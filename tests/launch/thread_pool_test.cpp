// Threads that share work: all of it is done once, whoever comes, and nobody stays behind.
#include <diecast/base/sanitizers.h>
#include <diecast/launch/host/thread_pool.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "child_process.h"
#include "signal_mask.h"

namespace diecast {
namespace {

TEST(ThreadPool, WorkEndsBeforeRunReturnsWhoeverTakesPart) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::uint64_t participants : {0u, 1u, 2u, 100u}) {
      for (int round = 0; round < 200; ++round) {
        std::atomic<int> next{0}, done{0}, inside{0};
        pool.run(participants, [&] {
          ++inside;
          while (next++ < 50) ++done;
          --inside;
        });
        ASSERT_EQ(inside, 0);
        ASSERT_EQ(done, 50);
      }
    }
  }
}

TEST(ThreadPool, AsManyThreadsWorkAtOnceAsWereAskedFor) {
  ThreadPool pool(4);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  // Each waits for the other two, so this ends only if three are inside together.
  std::atomic<int> inside{0}, taking{0};
  pool.run(3, [&] {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    taking += testing::takes(SIGUSR1);
    ++inside;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (inside < 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen.count(std::this_thread::get_id())) << "the caller takes part";
  EXPECT_EQ(taking, 1) << "signals are the caller's";
}

TEST(ThreadPool, ManyCallersShareTheWorkers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<int> next{0}, done{0};
        pool.run(4, [&] {
          while (next++ < 20) ++done;
        });
        wrong += done != 20;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// A child that hangs is ended by SIGALRM.
int in_child_for_seconds(unsigned seconds, const std::function<int()>& body) {
  return testing::in_child([&] {
    ::alarm(seconds);
    return body();
  });
}

TEST(ThreadPool, AForkedChildWorksAloneAndLeavesTheOthersBehind) {
  auto pool = std::make_unique<ThreadPool>(4);
  const int ended = in_child_for_seconds(20, [&] {
    int done = 0;
    pool->run(4, [&] { ++done; });
    const int threads = pool->threads();
    pool.reset();
    return done == 1 && threads == 1 ? 0 : 1;
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(pool->threads(), 4);
}

TEST(ThreadPool, ChildrenOfABusyPoolHangNowhere) {
#if defined(DIECAST_ASAN)
  GTEST_SKIP() << "this sanitizer's own allocator keeps its locks over a fork";
#endif
  ThreadPool pool(4);
  std::atomic<bool> end = false;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      std::atomic<int> next{0};
      while (!end) pool.run(4, [&] { ++next; });
    });
  }
  int failed = 0;
  for (int i = 0; i < 50; ++i) {
    failed += in_child_for_seconds(10, [&] {
                int done = 0;
                for (int round = 0; round < 20; ++round) pool.run(4, [&] { ++done; });
                return done == 20 ? 0 : 1;
              }) != 0;
  }
  end = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace diecast
