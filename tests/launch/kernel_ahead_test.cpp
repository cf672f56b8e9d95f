// Code that the driver reads before a kernel is preloaded: once, in no context, for one preload.
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include "child_process.h"
#include "sample_kernel.h"

namespace diecast {
namespace {

class KernelAhead : public ::testing::Test {
 protected:
  KernelAhead() { cuda_->parameters["k"] = {8}; }
  std::shared_ptr<Kernel> kernel() {
    constexpr const char* kText =
        "/* diecast\nsize rows\narg rows\nlaunch grid(rows) block(32)\n"
        "target sm_80+\n*/\nDIECAST_KERNEL {}\n";
    return testing::make_kernel(testing::specialize("k", kText, {}), device_);
  }
  testing::FakeCuda cuda_;
  std::shared_ptr<Device> device_ = cuda_.device();
};

TEST_F(KernelAhead, IsReadAheadOnceAndInNoContext) {
  cuda_.make_current(nullptr);
  const auto k = kernel();
  k->read_ahead();
  k->read_ahead();
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 1);
  EXPECT_EQ(cuda_->count("cuDevicePrimaryCtxRetain"), 0);
  EXPECT_EQ(cuda_->count("cuKernelGetFunction"), 0);
  ASSERT_TRUE(k->preload().value());
  k->read_ahead();
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 1);
  ASSERT_TRUE(k->launch(std::vector<KernelArgument>{KernelArgument::size(7)}, {}));
  // Another context gets the code anew.
  cuda_.create_context(0);
  ASSERT_TRUE(k->preload().value());
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 2);
}

TEST_F(KernelAhead, WhatFailsAheadIsPreloadsToTryAndToTell) {
  cuda_->fail["cuLibraryLoadData"] = {{1, 2}};
  const auto once = kernel();
  once->read_ahead();
  ASSERT_TRUE(once->preload().value());
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 2);
  cuda_->fail["cuLibraryLoadData"] = {{testing::CudaScript::kEveryCall, 2}};
  const auto never = kernel();
  never->read_ahead();
  const auto told = never->preload();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(told.error().what.find(never->artifact().spelling), std::string::npos);
}

TEST_F(KernelAhead, WhatWasReadServesTheNextTry) {
  const auto k = kernel();
  k->read_ahead();
  cuda_->fail["cuKernelGetFunction"] = {{1, 2}};
  ASSERT_FALSE(k->preload());
  ASSERT_TRUE(k->preload().value());
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 1);
}

// The driver never lets go of what it has read, and an engine may try at every step.
TEST_F(KernelAhead, ALoadThatFailsAgainAndAgainHasTheCodeReadOnce) {
  const auto k = kernel();
  for (const char* const call : {"cuKernelGetFunction", "cuFuncIsLoaded"}) {
    cuda_->fail[call] = {{testing::CudaScript::kEveryCall, 2}};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(k->preload().error().code, ErrorCode::out_of_memory);
    cuda_->fail.clear();
  }
  ASSERT_TRUE(k->preload().value());
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 1);
}

// A load may take long: a fork does not wait for it, and the child has nothing to wait for.
TEST_F(KernelAhead, AForkedChildDoesNotWaitForALoadOfItsParent) {
  const auto k = kernel();
  int ended = -1;
  cuda_->on_call = [&](const std::string& function) {
    if (function != "cuLibraryLoadData") return;
    ended = testing::in_child([&] {
      ::alarm(20);
      k->read_ahead();
      return k->preload() ? 1 : 0;
    });
  };
  ASSERT_TRUE(k->preload().value());
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace diecast
