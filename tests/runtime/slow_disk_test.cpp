// A disk that takes its time to sync: what waits for it does, and nobody else does.
#include <diecast/runtime/warm.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "fake_file_system.h"
#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using std::chrono::milliseconds;
using testing::FakeFileSystem;
using testing::FakeMachine;
using testing::FileCall;
using testing::FileFault;
using testing::kAmax;

class SlowDisk : public ::testing::Test {
 protected:
  std::shared_ptr<Runtime> runtime() {
    RuntimeOptions options = machine_.options();
    options.files = &files_;
    options.cache = root_;
    return Runtime::create(options).value();
  }
  static std::vector<Specialization> kernels(Runtime& runtime, int count) {
    std::vector<Specialization> all;
    for (int i = 1; i <= count; ++i) {
      const std::string spelling = "amax IN=bf16 COLS=" + std::to_string(16 * i) + " @ sm_90a";
      all.push_back(runtime.specialize(spelling).value());
    }
    return all;
  }
  std::size_t entries() const { return DiskCache::open(root_).value()->list().value().size(); }

  std::atomic<int> sync_ms_ = 300;
  FakeMachine machine_;
  std::string root_ = machine_.cache.path();
  FakeFileSystem files_{[this](const FileCall& call) {
    for (int ms = 0; call.name == "sync_data" && ms < sync_ms_; ++ms)
      std::this_thread::sleep_for(milliseconds(1));
    return FileFault{};
  }};
};

TEST_F(SlowDisk, IsWaitedForAtTheRuntimesEnd) {
  {
    const auto engine = runtime();
    for (const Specialization& one : kernels(*engine, 4)) ASSERT_TRUE(engine->resolve(one));
    EXPECT_LT(entries(), 4u);  // most of them are still being published
  }
  EXPECT_EQ(entries(), 4u);
}

TEST_F(SlowDisk, TheLockOfAKeyIsHeldUntilItsEntryHasItsName) {
  const auto engine = runtime();
  const auto one = engine->specialize(kAmax).value();
  const ArtifactKey key = engine->key(one).value();
  const auto other = DiskCache::open(root_).value();
  ASSERT_TRUE(engine->resolve(one));
  EXPECT_FALSE(other->lock(key, milliseconds(0), {}).held());
  EXPECT_EQ(entries(), 0u);
  engine->flush();
  EXPECT_TRUE(other->lock(key, milliseconds(0), {}).held());
  EXPECT_EQ(entries(), 1u);
}

TEST_F(SlowDisk, HasTheEntriesWhenWarmReturns) {
  const auto engine = runtime();
  const auto outcomes = warm(*engine, kernels(*engine, 3), {1, {}});
  EXPECT_EQ(entries(), outcomes.size());
}

// Of itself the thread that publishes cannot wait.
TEST_F(SlowDisk, MayBeAskedForByAnEventsSink) {
  sync_ms_ = 0;
  std::shared_ptr<Runtime> engine;
  std::atomic<int> told = 0;
  RuntimeOptions options = machine_.options();
  options.cache = root_;
  options.on_event = [&](const RuntimeEvent& event) {
    if (event.kind != RuntimeEvent::Kind::published) return;
    engine->flush();
    ++told;
  };
  engine = Runtime::create(options).value();
  ASSERT_TRUE(engine->resolve(engine->specialize(kAmax).value()));
  engine->flush();
  EXPECT_EQ(told, 1);
}

// Another runtime on the root would wait for it.
TEST_F(SlowDisk, HasTheLockOfNoKeyWhileItsEventIsTold) {
  sync_ms_ = 0;
  std::atomic<int> free = 0;
  RuntimeOptions options = machine_.options();
  options.cache = root_;
  const auto other = DiskCache::open(root_).value();
  std::optional<ArtifactKey> key;
  options.on_event = [&](const RuntimeEvent& event) {
    if (event.kind != RuntimeEvent::Kind::published) return;
    free += other->lock(*key, milliseconds(0), {}).held();
  };
  const auto engine = Runtime::create(options).value();
  const auto one = engine->specialize(kAmax).value();
  key = engine->key(one).value();
  ASSERT_TRUE(engine->resolve(one));
  engine->flush();
  EXPECT_EQ(free, 1);
}

// More kernels than may wait to be published.
TEST_F(SlowDisk, LosesNothingOfWhatIsWarmed) {
  sync_ms_ = 10;
  for (const int jobs : {2, 100}) {
    root_ = machine_.cache / std::to_string(jobs);
    const auto engine = runtime();
    (void)warm(*engine, kernels(*engine, 100), {jobs, {}});
    EXPECT_EQ(entries(), 100u) << jobs;
    EXPECT_EQ(engine->cache()->writable()->statistics().publishes_skipped, 0u) << jobs;
  }
}

// E-25: those who serve compile and go on; what is not published is counted.
TEST_F(SlowDisk, ThatHangsKeepsNobodyFromCompiling) {
  sync_ms_ = 600000;  // longer than any machine takes to compile
  const auto engine = runtime();
  const auto start = std::chrono::steady_clock::now();
  for (const Specialization& one : kernels(*engine, 100)) ASSERT_TRUE(engine->resolve(one));
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(sync_ms_));
  sync_ms_ = 0;
  engine->flush();
  const std::uint64_t skipped = engine->cache()->writable()->statistics().publishes_skipped;
  EXPECT_GE(skipped, 35u);  // 64 waited and one was under way
  EXPECT_LE(skipped, 36u);
  EXPECT_EQ(engine->counters().published, 100 - skipped);
  EXPECT_EQ(engine->counters().compiled, 100u);
}

}  // namespace
}  // namespace diecast
