// A stream whose context is known: launches go there, whichever context is current, and ask the
// driver nothing.
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include <thread>

#include "fake/cuda_script.h"
#include "sample_kernel.h"

namespace diecast {
namespace {

class PreparedStream : public ::testing::Test {
 protected:
  Result<void> launch(Stream stream) {
    void* const x = testing::address(0x1000);
    const KernelArgument arguments[] = {KernelArgument::tensor(DType::f32, x),
                                        KernelArgument::size(3)};
    cuda_->calls.clear();
    return kernel_->launch(arguments, stream);
  }
  std::string calls() const {
    std::string out;
    for (const testing::FakeCall& call : cuda_->calls)
      out += call.function + (call.result == 0 ? " " : " failed ");
    return out;
  }

  testing::FakeCuda cuda_;
  cuda::ContextHandle* const one_ = cuda_.create_context(0);
  const std::shared_ptr<Device> device_ = cuda_.device();
  const Stream stream_ = device_->create_stream().value();
  const std::uint64_t id_ = device_->context_id().value();
  const std::shared_ptr<Kernel> kernel_ = testing::make_kernel(
      testing::specialize("k",
                          "/* diecast\nsize n\narg x out f32 [n]\narg n\n"
                          "launch grid(n) block(1)\ntarget sm_80+\n*/\nDIECAST_KERNEL {}\n"),
      device_);
};

TEST_F(PreparedStream, IsOneThatWasCreatedHereOrMadeOneOfTheCallers) {
  EXPECT_EQ(stream_.context, id_);
  const Stream again = device_->prepare_stream(Stream{stream_.handle}).value();
  EXPECT_EQ(again.handle, stream_.handle);
  EXPECT_EQ(again.context, id_);
  for (const std::uintptr_t any : {0, 1, 2}) {  // the default streams
    const Stream same = device_->prepare_stream(Stream{testing::address(any)}).value();
    EXPECT_EQ(same.handle, testing::address(any));
    EXPECT_EQ(same.context, 0u);
  }
  const auto none = device_->prepare_stream(Stream{testing::address(0x5000)});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().what,
            "preparing a stream: cuStreamGetCtx returned CUDA_ERROR_INVALID_HANDLE (400)");
}

// Else every launch on it would find no code, and preparing in its context mends nothing.
TEST_F(PreparedStream, OfAnotherDeviceIsRefused) {
  cuda_->gpus.resize(2);
  const auto other = device_->prepare_stream(cuda_.device(1)->create_stream().value());
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message(),
            "diecast: invalid_argument: the stream is of another device than device 0 (Fake GPU)\n"
            "  fix: prepare it by the device that it was created on");
  EXPECT_EQ(device_->context_id().value(), id_);  // which is current as before
}

TEST_F(PreparedStream, HasItsOwnContextWhicheverIsCurrent) {
  cuda_.create_context(0);
  EXPECT_NE(device_->context_id().value(), id_);
  EXPECT_EQ(device_->prepare_stream(Stream{stream_.handle}).value().context, id_);
}

TEST_F(PreparedStream, IsLaunchedOnByTheLaunchAlone) {
  ASSERT_TRUE(kernel_->preload());
  ASSERT_TRUE(launch(stream_));
  EXPECT_EQ(calls(), "cuLaunchKernel ");
  ASSERT_TRUE(launch(Stream{stream_.handle}));
  EXPECT_EQ(calls(), "cuCtxGetId cuLaunchKernel ");
}

// As drivers go that ask for the function's context to be current.
TEST_F(PreparedStream, GetsItsContextsCodeWhicheverIsCurrent) {
  ASSERT_TRUE(kernel_->preload());
  cuda_.create_context(0);
  ASSERT_TRUE(kernel_->preload());
  EXPECT_FALSE(launch(Stream{stream_.handle}));  // the current context's code
  ASSERT_TRUE(launch(stream_));
  EXPECT_EQ(cuda_->launches.back().context, id_);
  EXPECT_EQ(calls(),
            "cuLaunchKernel cuCtxGetCurrent cuCtxGetCurrent cuCtxPushCurrent "
            "cuLaunchKernel cuCtxPopCurrent ");
  std::thread([&] { EXPECT_TRUE(launch(stream_)); }).join();  // a thread without a context
  EXPECT_EQ(cuda_->launches.back().context, id_);
}

TEST_F(PreparedStream, FailsAsAnyOtherWhereItsContextIsCurrent) {
  ASSERT_TRUE(kernel_->preload());
  cuda_->fail["cuLaunchKernel"][testing::CudaScript::kEveryCall] = 700;
  const auto launched = launch(stream_);
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.error().code, ErrorCode::driver_error);
  EXPECT_EQ(calls(), "cuLaunchKernel failed cuCtxGetCurrent ");
}

TEST_F(PreparedStream, WithoutResidentCodeIsAnErrorThoughTheCurrentContextHasIt) {
  cuda_.create_context(0);
  ASSERT_TRUE(kernel_->preload());
  const auto launched = launch(stream_);
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.error().code, ErrorCode::not_resident);
  EXPECT_EQ(launched.error().what,
            "k @ sm_90a is not resident on device 0 (Fake GPU) in the stream's context; a launch "
            "loads nothing");
}

}  // namespace
}  // namespace diecast
