// What goes wrong inside a resolve: no memory, an event sink that throws or calls back, many
// threads that wait for a compile that fails. Nobody hangs, and the next call works.
#include <diecast/runtime/publisher.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <latch>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "child_process.h"
#include "how_many.h"
#include "runtime/fake_machine.h"

namespace {
// Of this thread: allocations until one fails, or from then on all; -1: none does.
thread_local long allowed = -1;
thread_local bool failed = false, only_one = true;
thread_local const std::function<void()>* meanwhile = nullptr;  // in the next one

bool may_allocate() {
  if (allowed < 0 || (failed && only_one)) return true;
  if (allowed > 0) return allowed-- > 0;
  failed = true;
  return false;
}
}  // namespace

void* operator new(std::size_t size) {
  if (const auto* call = std::exchange(meanwhile, nullptr)) (*call)();
  void* const memory = may_allocate() ? std::malloc(size == 0 ? 1 : size) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return may_allocate() ? std::malloc(size == 0 ? 1 : size) : nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace diecast {
namespace {

using testing::FakeMachine;
using testing::kAmax;
using Kind = RuntimeEvent::Kind;

class NoMemory : public ::testing::TestWithParam<bool> {};

// E-14: each allocation of a resolve fails, it alone or all that follow too.
TEST_P(NoMemory, IsAnErrorWhereverItIsMetAndTheNextCallWorks) {
  const long step = testing::how_many(37L, 1L, 1L);
  FakeMachine machine;
  machine.nvrtc.unset("JOURNAL");
  RuntimeOptions options = machine.options();
  options.on_event = [](const RuntimeEvent&) {};
  options.cache_policy = CachePolicy::rebuild;
  auto runtime = Runtime::create(options).value();
  const Specialization one = runtime->specialize(kAmax).value();
  int refused = 0;
  for (long n = 0;; n += step) {
    only_one = GetParam();
    failed = false;
    allowed = n;
    const auto resolved = runtime->resolve(one);
    allowed = -1;
    if (resolved) {  // nothing failed, or nothing that matters: from memory from now on
      if (!failed) break;
      runtime = Runtime::create(options).value();
      continue;
    }
    ASSERT_EQ(resolved.error().code, ErrorCode::out_of_memory) << n << resolved.error().message();
    ++refused;
  }
  EXPECT_GT(refused, 5);
  runtime.reset();
  EXPECT_EQ(DiskCache::open(machine.cache.path()).value()->list().value().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(OnceAndFromThenOn, NoMemory, ::testing::Bool());

TEST(Trouble, ASinkThatThrowsIsNobodysTrouble) {
  FakeMachine machine;
  RuntimeOptions options = machine.options();
  options.on_event = [](const RuntimeEvent&) { throw std::runtime_error("a sink's own"); };
  const auto runtime = Runtime::create(options).value();
  EXPECT_TRUE(runtime->preload(runtime->specialize(kAmax).value(), machine.cuda.device()).ok());
  runtime->flush();
  EXPECT_EQ(runtime->counters().published, 1u);
}

// a sink may call the runtime, for what its own thread has just made too.
TEST(Trouble, ASinkMayCallTheRuntime) {
  FakeMachine machine;
  Runtime* engine = nullptr;
  std::vector<Kind> kinds;
  RuntimeOptions options = machine.options();
  options.on_event = [&](const RuntimeEvent& event) {
    if (event.spelling.find("IN=bf16") == std::string::npos) return;  // of the calls below
    if (event.kind == Kind::published) return;                        // on another thread
    EXPECT_TRUE(engine->resolve(engine->specialize(kAmax).value()).ok());
    EXPECT_TRUE(engine->resolve(engine->specialize("amax IN=f16 @ sm_90a").value()).ok());
    kinds.push_back(event.kind);
  };
  const auto runtime = Runtime::create(options).value();
  engine = runtime.get();
  ASSERT_TRUE(runtime->resolve(runtime->specialize(kAmax).value()));
  EXPECT_EQ(kinds, (std::vector{Kind::rendered, Kind::compiled}));
  EXPECT_EQ(machine.nvrtc.compiles().size(), 2u);
  kinds.clear();
  machine.nvrtc.set("FAIL", "nvrtcCompileProgram=6");
  EXPECT_FALSE(runtime->resolve(runtime->specialize("amax IN=bf16 @ sm_80").value()));
  EXPECT_EQ(kinds, (std::vector{Kind::rendered, Kind::failed}));
}

// two threads, of which each one's sink asks for what the other makes.
TEST(Trouble, SinksThatAskForEachOthersKernelsEnd) {
  const int ended = testing::in_child([] {
    ::alarm(20);
    FakeMachine machine;
    const std::string names[] = {kAmax, "amax IN=f16 @ sm_90a"};
    std::atomic<Runtime*> engine = nullptr;
    std::atomic<int> failed = 0;
    std::latch both(2);
    RuntimeOptions options = machine.options();
    options.on_event = [&](const RuntimeEvent& event) {
      if (event.kind != Kind::compiled) return;
      both.arrive_and_wait();
      const bool first = event.spelling.find("IN=bf16") != std::string::npos;
      failed += !engine.load()->resolve(engine.load()->specialize(names[first]).value());
    };
    const auto runtime = Runtime::create(options).value();
    engine = runtime.get();
    std::vector<std::thread> threads;
    for (const std::string& name : names)
      threads.emplace_back([&] { failed += !runtime->resolve(runtime->specialize(name).value()); });
    for (std::thread& thread : threads) thread.join();
    return failed.load();
  });
  EXPECT_EQ(ended, 0);
}

// one compile, one error, for everybody who waited for it.
TEST(Trouble, AFailedCompileIsEveryWaitingThreadsError) {
  FakeMachine machine;
  machine.nvrtc.set("FAIL", "nvrtcCompileProgram=6");
  machine.nvrtc.set("SLEEP_MS", "300");
  RuntimeOptions options = machine.options();
  options.on_event = nullptr;
  const auto runtime = Runtime::create(options).value();
  const auto one = runtime->specialize(kAmax).value();
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto resolved = runtime->resolve(one);
      failed += !resolved && resolved.error().code == ErrorCode::compile_failed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 8);
  EXPECT_EQ(runtime->counters().waited, 7u);
  EXPECT_EQ(runtime->counters().failed, 1u);
  EXPECT_EQ(machine.nvrtc.compiles().size(), 1u);
  machine.nvrtc.unset("FAIL");
  EXPECT_EQ(runtime->resolve(one).value().origin, Resolved::Origin::compiled);
}

TEST(Trouble, AnIsolatedCompileNeedsNoEnvironment) {
  FakeMachine machine;
  RuntimeOptions options = machine.options();
  options.isolated.program = "/bin/false";
  const auto runtime = Runtime::create(options).value();
  const auto amax = runtime->specialize(kAmax).value();
  const int ended = testing::in_child([&] {
    ::clearenv();
    const auto resolved = runtime->resolve(amax);
    return resolved ? 1 : resolved.error().code == ErrorCode::process_failed ? 0 : 2;
  });
  EXPECT_EQ(ended, 0);
}

// G-09: the first publication allocates its thread under the publisher's lock.
TEST(Trouble, AChildForkedInTheFirstPublicationPublishesByItself) {
  std::atomic<int> published = 0;
  Publisher publisher([&](const Publication&) { ++published; });
  int ended = -1;
  const std::function<void()> fork = [&] {
    ended = testing::in_child([&] {
      ::alarm(20);
      publisher.flush();
      return publisher.add({}) && published == 1 ? 0 : 1;
    });
  };
  meanwhile = &fork;
  EXPECT_TRUE(publisher.add({}));
  publisher.flush();
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(published, 1);
}

}  // namespace
}  // namespace diecast
