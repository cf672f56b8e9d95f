// A list of kernels made resident in one call: in the order given, each once, the first error there
// is; what the cache has and what it lacks alike.
#include <diecast/base/text.h>
#include <diecast/runtime/warm.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;

constexpr int kKernels = 100;

class Preload : public ::testing::Test {
 protected:
  static std::vector<Specialization> list(Runtime& runtime, int count = kKernels) {
    std::vector<Specialization> out;
    for (int i = 0; i < count; ++i)
      out.push_back(
          runtime.specialize(cat("amax IN=bf16 COLS=", 16 * (i + 1), " @ sm_90a")).value());
    return out;
  }
  // A cache that has the first of them, and a runtime that may use nothing else.
  std::shared_ptr<Runtime> served(int count) {
    {
      const auto warming = machine_.runtime();
      for (const WarmOutcome& outcome : warm(*warming, list(*warming, count), {}))
        EXPECT_FALSE(outcome.error);
    }
    RuntimeOptions options = machine_.options();
    options.cache_policy = CachePolicy::require_hit;
    options.nvrtc.path = "/nonexistent/libnvrtc.so";
    return Runtime::create(options).value();
  }
  FakeMachine machine_;
};

TEST_F(Preload, MakesAListResidentInOrderAndOnce) {
  const auto runtime = machine_.runtime();
  const auto device = machine_.cuda.device();
  const auto wanted = list(*runtime);
  const auto kernels = runtime->preload(wanted, device).value();
  ASSERT_EQ(kernels.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(kernels[i]->specialization().spelling(), wanted[i].spelling());
    EXPECT_TRUE(kernels[i]->resident().value());
  }
  EXPECT_EQ(runtime->preload(wanted, device).value(), kernels);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), wanted.size());
  EXPECT_EQ(machine_.cuda->count("cuLibraryLoadData"), kKernels);
  EXPECT_EQ(runtime->counters().loaded, wanted.size());
  EXPECT_EQ(machine_.cuda->violations, std::vector<std::string>{});
}

// The driver reads code in the threads that find it, which have no context.
TEST_F(Preload, ReadsAListAhead) {
  const auto runtime = machine_.runtime();
  ASSERT_TRUE(runtime->preload(list(*runtime), machine_.cuda.device()));
  const auto& calls = machine_.cuda->calls;
  const auto reads_without_context = std::ranges::count_if(calls, [](const auto& call) {
    return call.function == std::string("cuLibraryLoadData") && call.context == 0;
  });
  EXPECT_EQ(reads_without_context, kKernels);
}

TEST_F(Preload, ServesAListFromAWarmedCacheWithoutACompiler) {
  const auto runtime = served(kKernels);
  EXPECT_EQ(runtime->preload(list(*runtime), machine_.cuda.device()).value().size(), kKernels);
  EXPECT_EQ(runtime->counters().disk_hits, kKernels);
}

// One after another would have loaded those before it, and so does this.
TEST_F(Preload, EndsAtTheFirstThatIsMissing) {
  const auto runtime = served(40);
  const auto wanted = list(*runtime);
  const auto kernels = runtime->preload(wanted, machine_.cuda.device());
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().code, ErrorCode::not_cached);
  EXPECT_NE(kernels.error().what.find(cat("\n", wanted[40].spelling(), "\n")), std::string::npos)
      << kernels.error().what;
  EXPECT_EQ(machine_.cuda->count("cuLibraryLoadData"), 40);
}

// One cubin, and each caller's launches as it asked for them.
TEST_F(Preload, TellsLaunchTunesApart) {
  const auto device = machine_.cuda.device();
  const auto grid = [&](Runtime& runtime, int waves) {
    const auto one = runtime.specialize(cat("amax IN=f32 waves=", waves, " @ sm_90a")).value();
    const auto kernel = runtime.preload(one, device).value();
    EXPECT_EQ(runtime.preload(one, device).value(), kernel);
    const KernelArgument arguments[] = {
        KernelArgument::tensor(DType::f32, reinterpret_cast<void*>(0x1000)),
        KernelArgument::tensor(DType::f32, reinterpret_cast<void*>(0x2000)),
        KernelArgument::size(1 << 20), KernelArgument::size(4096)};
    return kernel->shape(arguments).value().grid[0];
  };
  const auto runtime = machine_.runtime(), other = machine_.runtime();
  for (const int waves : {1, 32, 8}) EXPECT_EQ(grid(*runtime, waves), 132u * waves);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), 1u);
  EXPECT_EQ(runtime->counters().loaded, 3u);
  for (const int waves : {1, 2, 8}) (void)grid(*other, waves);
  EXPECT_NE(runtime->selection_digest(), other->selection_digest());
}

TEST_F(Preload, OfAnEmptyListIsNothing) {
  const auto runtime = machine_.runtime();
  EXPECT_TRUE(runtime->preload(std::vector<Specialization>{}, machine_.cuda.device())->empty());
}

TEST_F(Preload, OfOneListByManyThreadsLoadsEachKernelOnce) {
  const auto runtime = machine_.runtime();
  const auto device = machine_.cuda.device();
  const auto wanted = list(*runtime, 48);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { failures += !runtime->preload(wanted, device); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), wanted.size());
  EXPECT_EQ(machine_.cuda->count("cuLibraryLoadData"), 48);
  EXPECT_EQ(runtime->counters().loaded, 48u);
}

TEST_F(Preload, AfterFreezeIsAnErrorUnlessAllAreResident) {
  const auto runtime = machine_.runtime();
  const auto device = machine_.cuda.device();
  const auto wanted = list(*runtime, 20);
  ASSERT_TRUE(runtime->preload(std::span(wanted).first(19), device));
  runtime->freeze();
  EXPECT_TRUE(runtime->preload(std::span(wanted).first(19), device));
  const auto late = runtime->preload(wanted, device);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::frozen);
  EXPECT_NE(late.error().what.find(wanted[19].spelling()), std::string::npos);
}

}  // namespace
}  // namespace diecast
