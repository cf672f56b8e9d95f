// A process that forks while its runtime is at work: the child has none of the threads that were in
// the middle of something, and must never wait for one.
#include <diecast/base/sanitizers.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "child_process.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using testing::kAmax;
using Origin = Resolved::Origin;
constexpr char kOther[] = "amax IN=f16 @ sm_90a", kThird[] = "amax IN=f32 @ sm_90a";

// A child that hangs is ended by SIGALRM: 128 + 14.
int in_child_for(unsigned seconds, const std::function<int()>& body) {
  return testing::in_child([&] {
    ::alarm(seconds);
    return body();
  });
}

void wait_for_compiles(const FakeMachine& machine, std::size_t count) {
  while (machine.nvrtc.compiles().size() < count)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

class Forked : public ::testing::Test {
 protected:
  Forked() {
    RuntimeOptions options = machine_.options();
    options.on_event = nullptr;
    runtime_ = Runtime::create(options).value();
    (void)resolve(kAmax).value();
    runtime_->flush();
    machine_.nvrtc.set("SLEEP_MS", "1500");
  }
  Result<Resolved> resolve(const char* spelling) {
    return runtime_->resolve(runtime_->specialize(spelling).value());
  }
  FakeMachine machine_;
  std::shared_ptr<Runtime> runtime_;
};

// N-18: what is in memory is served, what the parent is making comes from the cache, and what only
// NVRTC could make is an error.
TEST_F(Forked, ChildNeverWaitsForACompileThatIsNotItsOwn) {
  std::thread other([&] { (void)resolve(kOther).value(); });
  wait_for_compiles(machine_, 2);
  const int ended = in_child_for(20, [&] {
    if (resolve(kAmax).value().origin != Origin::memory) return 1;
    const auto third = resolve(kThird);
    if (third || third.error().code != ErrorCode::compiler_unavailable) return 2;
    if (third.error().what !=
        "this process was forked while NVRTC was compiling, and NVRTC does not work in it") {
      return 3;
    }
    const auto awaited = resolve(kOther);
    if (!awaited || awaited->origin != Origin::disk) return 4;
    runtime_.reset();
    return 0;
  });
  other.join();
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), 2u);
}

TEST_F(Forked, ChildOfAnIdleProcessCompiles) {
  const int ended = in_child_for(20, [&] {
    const auto other = resolve(kOther);
    runtime_.reset();
    return other && other->origin == Origin::compiled ? 0 : 1;
  });
  EXPECT_EQ(ended, 0);
}

// G-09: no lock of ours is held in a child, whatever the parent's threads are doing.
TEST_F(Forked, ChildrenOfABusyProcessHangNowhere) {
#if defined(DIECAST_ASAN)
  GTEST_SKIP() << "this sanitizer's own allocator keeps its locks over a fork";
#endif
  machine_.nvrtc.unset("SLEEP_MS");
  std::atomic<bool> end = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!end) {
        (void)resolve(kAmax);
        (void)runtime_->find_prepared({.hash = 1, .request = {}});
      }
    });
  }
  int failed = 0;
  for (int i = 0; i < 100; ++i)
    failed += in_child_for(10, [&] { return resolve(kAmax) ? 0 : 1; }) != 0;
  end = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace diecast
