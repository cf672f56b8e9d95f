// Many threads on one runtime: every key is compiled once, loaded once and launched by all. Built
// with DIECAST_SANITIZE=thread it is what shows that resolve, preload and launch race with nothing.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;

constexpr int kThreads = 8, kKeys = 48;

class Threads : public ::testing::Test {
 protected:
  Threads() { machine_.nvrtc.set("SLEEP_MS", "1"); }

  static std::string spelling(int key) { return cat("amax IN=bf16 COLS=", 16 * key, " @ sm_90a"); }

  // One launch of a key's kernel: 7 rows.
  static bool launched(const Kernel& kernel, int key) {
    const KernelArgument arguments[] = {
        KernelArgument::tensor(DType::bf16, reinterpret_cast<void*>(0x1000)),
        KernelArgument::tensor(DType::f32, reinterpret_cast<void*>(0x2000)),
        KernelArgument::size(7), KernelArgument::size(key == 0 ? 32 : 16 * key)};
    return kernel.launch(arguments, {}).ok();
  }

  // Every key in an order of the thread's own: some resolved first, all preloaded and launched.
  // The number of failures.
  static int work(Runtime& runtime, const std::shared_ptr<Device>& device, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int> keys(kKeys);
    for (int key = 0; key < kKeys; ++key) keys[static_cast<std::size_t>(key)] = key;
    std::shuffle(keys.begin(), keys.end(), random);
    int failures = 0;
    for (const int key : keys) {
      const auto one = runtime.specialize(spelling(key));
      if (random() % 2 == 0) failures += !one || !runtime.resolve(*one);
      const auto kernel = runtime.preload(*one, device);
      failures += !kernel || !launched(**kernel, key);
      if (random() % 8 == 0) runtime.flush();
      failures += runtime.counters().failed != 0;
    }
    return failures;
  }

  static int together(const std::function<int(unsigned)>& body) {
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { failures += body(i); });
    }
    for (std::thread& thread : threads) thread.join();
    return failures;
  }

  FakeMachine machine_;
};

TEST_F(Threads, CompileLoadAndLaunchManyKeysOnceEach) {
  const auto runtime = machine_.runtime();
  const auto device = machine_.cuda.device();
  EXPECT_EQ(together([&](unsigned i) { return work(*runtime, device, i); }), 0);
  runtime->flush();
  EXPECT_EQ(machine_.nvrtc.compiles().size(), kKeys);
  EXPECT_EQ(machine_.cuda->count("cuLibraryLoadData"), kKeys);
  EXPECT_EQ(runtime->counters().loaded, kKeys);
  EXPECT_EQ(machine_.cuda->launches.size(), kThreads * kKeys);
  EXPECT_EQ(runtime->counters().published, kKeys);
  EXPECT_EQ(machine_.cuda->violations, std::vector<std::string>{});
}

// Two runtimes of one process on one root: each finds what the other has published meanwhile.
TEST_F(Threads, OfTwoRuntimesOnOneRootCompileEachKeyOnce) {
  const std::shared_ptr<Runtime> runtimes[] = {machine_.runtime(), machine_.runtime()};
  const std::shared_ptr<Device> devices[] = {machine_.cuda.device(), machine_.cuda.device()};
  EXPECT_EQ(together([&](unsigned i) { return work(*runtimes[i % 2], devices[i % 2], i); }), 0);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), kKeys);
  std::uint64_t served = 0;
  for (const auto& runtime : runtimes) {
    served += runtime->counters().compiled + runtime->counters().disk_hits;
  }
  EXPECT_EQ(served, 2 * kKeys);
}

// The engine's steady state: nothing compiles or loads any more, everything launches at once.
TEST_F(Threads, LaunchAfterFreezeWhileOthersAskForWhatIsMissing) {
  const auto runtime = machine_.runtime();
  const auto device = machine_.cuda.device();
  const auto kernel = runtime->preload(runtime->specialize(spelling(1)).value(), device).value();
  const auto late = [&](unsigned thread) {
    int failures = 0;
    if (thread == 0) runtime->freeze();
    for (int i = 0; i < 200; ++i) {
      failures += !launched(*kernel, 1);
      if (thread % 2 == 0) continue;
      const auto missing = runtime->resolve(runtime->specialize(spelling(i % 4)).value());
      failures += !missing && missing.error().code != ErrorCode::frozen;
    }
    return failures;
  };
  EXPECT_EQ(together(late), 0);
  EXPECT_EQ(machine_.cuda->launches.size(), 200u * kThreads);
  EXPECT_LE(machine_.nvrtc.compiles().size(), 4u);
}

// The convenience calls' ops: whoever comes first keeps one, everybody finds it.
TEST_F(Threads, KeepAndFindPreparedOps) {
  constexpr std::uint64_t kRequests = 500;
  const auto runtime = machine_.runtime();
  const auto device = machine_.cuda.device();
  const auto keep_and_find = [&](unsigned thread) {
    int failures = 0;
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      const std::uint64_t request = (i * 7 + thread) % kRequests;
      // Several requests have one hash, and buckets are shared.
      const PreparedKey key{device.get(), nullptr, request % 100 << 57, std::span(&request, 1)};
      auto found = runtime->find_prepared(key);
      if (found == nullptr)
        found = runtime->keep_prepared(key, std::make_shared<std::uint64_t>(request));
      failures += found != runtime->find_prepared(key);
      failures += *static_cast<const std::uint64_t*>(found) != request;
    }
    return failures;
  };
  EXPECT_EQ(together(keep_and_find), 0);
}

// one asks the disk and compiles, the others wait without asking.
TEST_F(Threads, AThousandWaitForOneCompile) {
  machine_.nvrtc.set("SLEEP_MS", "500");
  const auto runtime = machine_.runtime();
  const auto one = runtime->specialize(spelling(0)).value();
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 1000; ++i) {
    threads.emplace_back([&] { failures += !runtime->resolve(one); });
  }
  for (std::thread& thread : threads) thread.join();
  runtime->flush();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), 1u);
  const RuntimeCounters counters = runtime->counters();
  EXPECT_EQ(counters.waited + counters.memory_hits, 999u);
  EXPECT_GT(counters.waited, 0u);
  const CacheStatistics disk = runtime->cache()->writable()->statistics();
  EXPECT_LE(disk.hits + disk.misses, 2u);  // before the lock and under it
  EXPECT_EQ(disk.lock_waits, 0u);
}

}  // namespace
}  // namespace diecast
