// A context that was lost, by our kernel or by somebody else's: every later call on it fails. The
// error is the driver's, nothing is compiled or written because of it, and nothing is called that
// could hang.
#include <gtest/gtest.h>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::CudaScript;
using testing::FakeMachine;
using testing::kAmax;

class LostContext : public ::testing::TestWithParam<int> {
 protected:
  LostContext() {
    machine_.cuda->gpus.resize(2);
    (void)runtime_->resolve(one_).value();
    runtime_->flush();
    before_ = testing::tree(machine_.cache.path());
    bytes_ = runtime_->cache()->writable()->list().value().at(0).file_bytes;
  }
  static auto launch(const Kernel& kernel) {
    const KernelArgument arguments[] = {
        KernelArgument::tensor(DType::bf16, reinterpret_cast<void*>(0x1000)),
        KernelArgument::tensor(DType::f32, reinterpret_cast<void*>(0x2000)),
        KernelArgument::size(7), KernelArgument::size(32)};
    return kernel.launch(arguments, {});
  }
  void expect_driver_error(const Error& error, const char* call) const {
    EXPECT_EQ(error.code, ErrorCode::driver_error);
    EXPECT_NE(error.what.find(call), std::string::npos) << error.what;
    EXPECT_TRUE(error.fix.starts_with("the context is lost")) << error.fix;
  }
  // Since `from`: no unload, no waiting, no freeing.
  void expect_nothing_that_hangs(std::size_t from) const {
    for (std::size_t i = from; i < machine_.cuda->calls.size(); ++i) {
      const std::string& function = machine_.cuda->calls[i].function;
      for (const char* hangs : {"Unload", "Synchronize", "Free", "Release", "Destroy"}) {
        EXPECT_EQ(function.find(hangs), std::string::npos) << function;
      }
    }
  }
  void expect_untouched() {
    runtime_->flush();
    EXPECT_EQ(machine_.nvrtc.compiles().size(), 1u);
    EXPECT_EQ(testing::tree(machine_.cache.path()), before_);
    EXPECT_EQ(runtime_->cache()->writable()->list().value().at(0).file_bytes, bytes_);
    EXPECT_EQ(runtime_->counters().refused, 0u);
    EXPECT_EQ(runtime_->cache()->writable()->statistics().replaced, 0u);
  }

  FakeMachine machine_;
  std::shared_ptr<Runtime> runtime_ = machine_.runtime();
  const Specialization one_ = runtime_->specialize(kAmax).value();
  std::vector<std::string> before_;
  std::uint64_t bytes_ = 0;
};

// G-05: the load meets it.
TEST_P(LostContext, FailsALoadWithoutACompileAndLeavesOtherDevicesAlone) {
  const auto lost = machine_.cuda.device(0), other = machine_.cuda.device(1);
  machine_.cuda->fail["cuLibraryLoadData"] = {{1, GetParam()}, {2, GetParam()}};
  for (int call = 0; call < 2; ++call) {
    const std::size_t from = machine_.cuda->calls.size();
    const auto refused = runtime_->preload(one_, lost);
    ASSERT_FALSE(refused);
    expect_driver_error(refused.error(), "cuLibraryLoadData");
    expect_nothing_that_hangs(from);
  }
  EXPECT_TRUE(launch(*runtime_->preload(one_, other).value()));
  expect_untouched();
}

// G-06: somebody else's kernel failed, and our launch is the first call to say so.
TEST_P(LostContext, FailsALaunchAsTheDriversErrorAndLeavesOtherDevicesAlone) {
  const auto lost = runtime_->preload(one_, machine_.cuda.device(0)).value();
  const auto other = runtime_->preload(one_, machine_.cuda.device(1)).value();
  for (const char* call : {"cuLaunchKernel", "cuLaunchKernelEx"})  // whichever the template takes
    machine_.cuda->fail[call] = {{1, GetParam()}};
  const std::size_t from = machine_.cuda->calls.size();
  const auto failed = launch(*lost);
  ASSERT_FALSE(failed);
  expect_driver_error(failed.error(), "cuLaunchKernel");
  expect_nothing_that_hangs(from);
  EXPECT_TRUE(launch(*other));
  expect_untouched();
}

INSTANTIATE_TEST_SUITE_P(Results, LostContext,
                         ::testing::Values(214, 226, 700, 702, 716, 718, 719, 911));

}  // namespace
}  // namespace diecast
