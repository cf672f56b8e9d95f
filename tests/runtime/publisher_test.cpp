// The publishing thread: nobody waits for a slow disk, and nothing that goes wrong there reaches
// anybody.
#include <diecast/runtime/publisher.h>
#include <gtest/gtest.h>

#include <future>
#include <new>

#include "child_process.h"
#include "signal_mask.h"

namespace diecast {
namespace {

// E-25: a disk that takes its time is not the caller's.
TEST(Publisher, ReturnsWhileTheDiskHangs) {
  std::promise<void> disk;
  const auto answers = disk.get_future().share();
  std::atomic<int> published = 0;
  Publisher publisher([&](const Publication&) {
    answers.wait();
    ++published;
  });
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) publisher.add({});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(published, 0);
  disk.set_value();
  publisher.flush();
  EXPECT_EQ(published, 8);
}

// However many there are: beyond what may wait they are left out, and the caller is told.
TEST(Publisher, ReturnsWithoutRoomToo) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  std::promise<void> disk;
  const auto answers = disk.get_future().share();
  std::atomic<int> published = 0;
  Publisher publisher([&](const Publication&) {
    answers.wait_until(end);
    ++published;
  });
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += publisher.add({});
  EXPECT_EQ(published, 0);
  EXPECT_LT(std::chrono::steady_clock::now(), end);
  disk.set_value();
  publisher.flush();
  EXPECT_EQ(published, taken);
  EXPECT_GE(taken, 64);  // and one may be under way
  EXPECT_LE(taken, 65);
}

TEST(Publisher, EndsWhenAllThatWaitedIsPublished) {
  std::atomic<int> published = 0;
  {
    Publisher publisher([&](const Publication&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++published;
    });
    for (int i = 0; i < 4; ++i) publisher.add({});
  }
  EXPECT_EQ(published, 4);
}

TEST(Publisher, GoesOnAfterWhatAPublicationThrows) {
  std::atomic<int> tried = 0;
  Publisher publisher([&](const Publication&) {
    if (++tried % 2 == 1) throw std::bad_alloc();
  });
  for (int i = 0; i < 4; ++i) publisher.add({});
  publisher.flush();
  EXPECT_EQ(tried, 4);
}

TEST(Publisher, LeavesSignalsToTheApplication) {
  bool taken = true;
  Publisher publisher([&](const Publication&) { taken = testing::takes(SIGUSR1); });
  publisher.add({});
  publisher.flush();
  EXPECT_FALSE(taken);
}

TEST(Publisher, TakesFromManyThreadsAtOnce) {
  std::atomic<int> published = 0, taken = 0;
  Publisher publisher([&](const Publication&) { ++published; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) taken += publisher.add({});
      publisher.flush();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(published, taken);
  EXPECT_GE(taken, 64);
}

}  // namespace
}  // namespace diecast
