// What stands above the driver's own launch: no allocation, and a time that is printed. The bound
// is wide, for slow and busy machines and sanitizer builds.
#include <diecast/base/text.h>
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "allocations.h"
#include "sample_kernel.h"

namespace diecast {
namespace {

// The arguments and the rule of a quantizing kernel.
constexpr const char* kCostText = R"(/* diecast
shape  int  COLS = 0
option bool ROW_SCALE = false
tune   int  THREADS {128} = 128
tune   int  waves {1, 64} = 64
size rows device
size cols = COLS
arg x      in  bf16 [rows, cols] stride align 16
arg amax   in  f32  [ROW_SCALE ? rows : 1]
arg codes  out u8   [rows, align_up(cols, 16) / 2] align 8
arg scales out e4m3 [rows, ceil_div(cols, 16)]
arg rows
arg cols
launch grid(min(ceil_div(rows * cols, 16 * THREADS), sm_count * waves)) block(THREADS)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class KernelCost : public ::testing::Test {
 protected:
  KernelCost() {
    EXPECT_TRUE(kernel_->preload());
    EXPECT_TRUE(kernel_->launch(arguments_, {}));
  }
  // Nanoseconds of one call, the best of many rounds.
  template <class Call>
  static double ns(const Call& call) {
    constexpr int kCalls = 2000;
    double best = 1e9;
    for (int round = 0; round < 50; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i) call();
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count() / kCalls);
    }
    return best;
  }

  std::string functions_of_a_launch() {
    cuda_->calls.clear();
    (void)kernel_->launch(arguments_, {});
    std::string out;
    for (const testing::FakeCall& call : cuda_->calls)
      out += call.function + (call.result == 0 ? " " : " failed ");
    return out;
  }

  testing::FakeCuda cuda_;
  cuda::ContextHandle* context_ = cuda_.create_context(0);
  std::shared_ptr<Device> device_ = cuda_.device();
  std::shared_ptr<Kernel> kernel_ = testing::make_kernel(
      testing::specialize("k", kCostText, Bindings().set("COLS", 4096)), device_);
  const KernelArgument arguments_[6] = {
      KernelArgument::tensor(DType::bf16, testing::address(0x1000), 4096),
      KernelArgument::tensor(DType::f32, testing::address(0x2000)),
      KernelArgument::tensor(DType::u8, testing::address(0x3000)),
      KernelArgument::tensor(DType::e4m3, testing::address(0x4000)),
      KernelArgument::size(1024),
      KernelArgument::size(4096)};
};

TEST_F(KernelCost, LaunchAllocatesNothing) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "the sanitizer counts allocations itself";
#endif
  cuda_->quiet = true;  // the fake driver's record would allocate
  const long before = testing::allocations;
  for (int i = 0; i < 100; ++i) (void)kernel_->launch(arguments_, {});
  EXPECT_EQ(testing::allocations - before, 0);
  EXPECT_GT(before, 0);
}

TEST_F(KernelCost, LaunchIsOneDriverCallAndTheLaunchItself) {
  EXPECT_EQ(functions_of_a_launch(), "cuCtxGetId cuLaunchKernel ");
}

// The driver takes a microsecond for a call that fails.
TEST_F(KernelCost, NoLaunchOfAThreadWithoutAContextMakesACallThatFails) {
  const std::string launch = "cuCtxGetCurrent cuCtxPushCurrent cuLaunchKernel cuCtxPopCurrent ";
  cuda_.make_current(nullptr);
  ASSERT_TRUE(kernel_->preload());
  EXPECT_EQ(functions_of_a_launch(), "cuCtxGetCurrent cuCtxGetId " + launch);  // known already
  std::thread([&] {
    EXPECT_EQ(functions_of_a_launch(), "cuCtxGetCurrent cuCtxGetId " + launch);
    EXPECT_EQ(functions_of_a_launch(), "cuCtxGetCurrent cuCtxGetId " + launch);
  }).join();
}

TEST_F(KernelCost, AThreadWithoutAContextIsAsSoonAsTheOthersOnceItHasOne) {
  cuda_.make_current(nullptr);
  (void)functions_of_a_launch();
  std::thread([&] {
    cuda_.make_current(context_);
    EXPECT_EQ(functions_of_a_launch(),
              "cuCtxGetCurrent cuCtxGetId cuCtxGetCurrent cuLaunchKernel ");
    EXPECT_EQ(functions_of_a_launch(), "cuCtxGetId cuLaunchKernel ");
  }).join();
  cuda_.make_current(context_);
  (void)functions_of_a_launch();
  EXPECT_EQ(functions_of_a_launch(), "cuCtxGetId cuLaunchKernel ");
}

TEST_F(KernelCost, LaunchStaysUnderAMicrosecond) {
#ifdef DIECAST_SANITIZER
  GTEST_SKIP() << "a sanitizer's own work would be measured";
#endif
  cuda_->quiet = true;
  bool all = true;
  const double whole = ns([&] { all &= kernel_->launch(arguments_, {}).ok(); });
  EXPECT_TRUE(all);
  // The same two driver calls without anything of ours.
  const auto driver = cuda_.driver();
  unsigned long long id = 0;
  const double calls = ns([&] {
    driver->cuCtxGetId(nullptr, &id);
    driver->cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  });
  std::printf("Kernel::launch: %.1f ns, of which the fake driver's calls take %.1f ns\n", whole,
              calls);
  EXPECT_LT(whole - calls, 1000.0);
}

}  // namespace
}  // namespace diecast
