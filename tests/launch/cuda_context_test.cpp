// Which context work goes to: the caller's own, or the primary one, retained once.
#include <diecast/launch/cuda_device.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "fake/cuda_script.h"

namespace diecast {
namespace {

using testing::FakeCuda;

class CudaContextsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Device> device(int ordinal = 0) { return cuda_.device(ordinal); }
  FakeCuda cuda_;
};

TEST_F(CudaContextsTest, OpeningTouchesNoContext) {
  device();
  EXPECT_EQ(cuda_->count("cuDevicePrimaryCtxRetain"), 0);
}

TEST_F(CudaContextsTest, CallersContextIsUsedWhenItIsThisDevices) {
  cuda_->gpus.resize(2);
  cuda_.create_context(1);
  ASSERT_TRUE(device(1)->allocate(16));
  EXPECT_EQ(cuda_->count("cuDevicePrimaryCtxRetain"), 0);
  EXPECT_EQ(cuda_->count("cuCtxPushCurrent"), 0);
}

TEST_F(CudaContextsTest, ElseThePrimaryContextIsRetainedOnceAndPoppedAfterEachCall) {
  cuda_->gpus.resize(2);
  auto* const mine = cuda_.create_context(0);
  const auto second = device(1);
  void* memory = second->allocate(16).value();
  ASSERT_TRUE(second->free(memory));
  EXPECT_EQ(cuda_->count("cuDevicePrimaryCtxRetain"), 1);
  EXPECT_EQ(cuda_->count("cuCtxPushCurrent"), 2);
  EXPECT_EQ(cuda_->count("cuCtxPopCurrent"), 2);
  cuda::ContextHandle* current = nullptr;
  cuda_.driver()->cuCtxGetCurrent(&current);
  EXPECT_EQ(current, mine);
}

TEST_F(CudaContextsTest, ContextIsLeftAsItWasAfterAnErrorToo) {
  const auto opened = device();
  cuda_->fail["cuMemAlloc"][1] = 2;
  EXPECT_FALSE(opened->allocate(16));
  EXPECT_EQ(cuda_->count("cuCtxPopCurrent"), 1);
  cuda::ContextHandle* current = nullptr;
  cuda_.driver()->cuCtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
}

TEST_F(CudaContextsTest, PrimaryContextThatCannotStartIsNamed) {
  cuda_->fail["cuDevicePrimaryCtxRetain"][1] = 46;
  const auto id = device()->context_id();
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().message(),
            "diecast: driver_error: starting CUDA on device 0 (Fake GPU): cuDevicePrimaryCtxRetain "
            "returned CUDA_ERROR_DEVICE_UNAVAILABLE (46)\n"
            "  fix: another process holds the GPU alone: end it, or set the compute mode with "
            "nvidia-smi -c 0");
}

TEST_F(CudaContextsTest, ContextIdsTellContextsApart) {
  const auto opened = device();
  const std::uint64_t primary = opened->context_id().value();
  auto* const one = cuda_.create_context(0);
  const std::uint64_t of_one = opened->context_id().value();
  EXPECT_EQ(opened->context_id().value(), of_one);
  cuda_.destroy_context(one);
  cuda_.create_context(0);
  const std::uint64_t of_two = opened->context_id().value();
  EXPECT_EQ(std::set<std::uint64_t>({primary, of_one, of_two}).size(), 3u);
  cuda_.make_current(nullptr);
  EXPECT_EQ(opened->context_id().value(), primary);
}

TEST_F(CudaContextsTest, PrimaryContextThatWasResetHasANewIdOnceTheDeviceIsOpenedAgain) {
  const auto opened = device();
  const std::uint64_t before = opened->context_id().value();
  cuda_.reset_primary(0);
  const auto lost = opened->allocate(16);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::driver_error);
  EXPECT_TRUE(
      lost.error().fix.starts_with("the context was destroyed, or its device reset: "
                                   "open the device again"))
      << lost.error().fix;
  EXPECT_FALSE(opened->context_id());
  const std::uint64_t after = device()->context_id().value();
  EXPECT_NE(after, before);
  EXPECT_EQ(opened->context_id().value(), after);
}

TEST_F(CudaContextsTest, KnownContextCostsTwoDriverCalls) {
  const auto opened = device();
  cuda_.create_context(0);
  ASSERT_TRUE(opened->context_id());
  cuda_->calls.clear();
  ASSERT_TRUE(opened->context_id());
  ASSERT_EQ(cuda_->calls.size(), 2u);
  EXPECT_EQ(cuda_->calls[0].function, "cuCtxGetCurrent");
  EXPECT_EQ(cuda_->calls[1].function, "cuCtxGetId");
}

// A call that fails takes a real driver a microsecond, as long as half a launch.
TEST_F(CudaContextsTest, ThreadWithoutAContextMakesNoCallThatFails) {
  cuda_->calls.clear();
  ASSERT_EQ(current_cuda_device(*cuda_.driver()).value(), 0);
  const auto opened = device();
  ASSERT_TRUE(opened->context_id());
  void* memory = opened->allocate(16).value();
  ASSERT_TRUE(opened->free(memory));
  EXPECT_GT(cuda_->calls.size(), 3u);
  for (const auto& call : cuda_->calls) EXPECT_EQ(call.result, 0) << call.function;
}

TEST_F(CudaContextsTest, DestroyedContextIsAnError) {
  const auto opened = device();
  auto* const context = cuda_.create_context(0);
  ASSERT_TRUE(opened->context_id());
  cuda_.create_context(0);
  cuda_.destroy_context(context);
  cuda_.make_current(context);
  const auto memory = opened->allocate(16);
  ASSERT_FALSE(memory);
  EXPECT_EQ(
      memory.error().message(),
      "diecast: driver_error: choosing the context of device 0 (Fake GPU): cuCtxGetDevice "
      "returned CUDA_ERROR_CONTEXT_IS_DESTROYED (709)\n"
      "  fix: the context was destroyed, or its device reset: open the device again or make a "
      "live context current, and preload the kernels there");
  EXPECT_FALSE(opened->context_id());
}

TEST_F(CudaContextsTest, WithoutContextIdsHandlesServe) {
  cuda_->missing = {"cuCtxGetId"};
  const auto opened = device();
  const std::uint64_t primary = opened->context_id().value();
  cuda_.create_context(0);
  const std::uint64_t own = opened->context_id().value();
  EXPECT_NE(own, primary);
  EXPECT_EQ(opened->context_id().value(), own);
}

TEST_F(CudaContextsTest, CurrentDeviceIsThatOfTheCurrentContext) {
  cuda_->gpus.resize(3);
  EXPECT_EQ(current_cuda_device(*cuda_.driver()).value(), 0);
  cuda_.create_context(2);
  EXPECT_EQ(current_cuda_device(*cuda_.driver()).value(), 2);
}

TEST_F(CudaContextsTest, ManyThreadsStartOnePrimaryContext) {
  const auto opened = device();
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> ids(8);
  for (std::uint64_t& id : ids) threads.emplace_back([&] { id = opened->context_id().value(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), 1u);
  EXPECT_EQ(cuda_->count("cuDevicePrimaryCtxRetain"), 1);
}

}  // namespace
}  // namespace diecast
