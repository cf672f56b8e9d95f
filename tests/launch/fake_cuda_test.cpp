// The fake driver holds what its header says; the other tests lean on it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "fake/cubin.h"
#include "sample_kernel.h"

namespace diecast {
namespace {

using testing::FakeCuda;
using Texts = std::vector<std::string>;

TEST(FakeCuda, EnvironmentScriptsAChildProcess) {
  ::setenv("DIECAST_FAKE_CUDA_CC", "80 100", 1);
  ::setenv("DIECAST_FAKE_CUDA_VERSION", "12080", 1);
  ::setenv("DIECAST_FAKE_CUDA_FAIL", "cuMemAlloc=2 cuStreamCreate=700", 1);
  const FakeCuda cuda;
  ::unsetenv("DIECAST_FAKE_CUDA_CC");
  ::unsetenv("DIECAST_FAKE_CUDA_VERSION");
  ::unsetenv("DIECAST_FAKE_CUDA_FAIL");
  EXPECT_EQ(cuda.driver()->version(), 12080);
  EXPECT_EQ(cuda.device(0)->properties().cc, 80);
  const auto device = cuda.device(1);
  EXPECT_EQ(device->properties().cc, 100);
  EXPECT_EQ(device->allocate(1).error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(device->allocate(1).error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(device->create_stream().error().code, ErrorCode::driver_error);
}

TEST(FakeCuda, NthCallFails) {
  const FakeCuda cuda;
  const auto device = cuda.device();
  cuda->fail["cuMemAlloc"][2] = 2;
  EXPECT_TRUE(device->allocate(1));
  EXPECT_FALSE(device->allocate(1));
  EXPECT_TRUE(device->allocate(1));
  EXPECT_EQ(cuda->calls.back().function, "cuCtxPopCurrent");
  EXPECT_EQ(cuda->count("cuMemAlloc"), 3);
}

TEST(FakeCuda, KernelsDoWhatTheScriptSays) {
  const FakeCuda cuda;
  const auto device = cuda.device();
  const auto kernel = testing::make_kernel(
      testing::specialize("k",
                          "/* diecast\nsize n\narg x out f32 [n]\narg n\n"
                          "launch grid(n) block(1)\ntarget sm_80+\n*/\nDIECAST_KERNEL {}\n"),
      device);
  cuda->parameters["k"] = {8, 8};
  cuda->on_launch = [](const testing::FakeLaunch& launch, void** parameters) {
    for (unsigned i = 0; i < launch.grid[0]; ++i)
      (*static_cast<float**>(parameters[0]))[i] = static_cast<float>(i);
  };
  ASSERT_TRUE(kernel->preload());
  void* const memory = device->allocate(12).value();
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::f32, memory),
                                      KernelArgument::size(3)};
  ASSERT_TRUE(kernel->launch(arguments, {}));
  float values[3];
  ASSERT_TRUE(device->copy_to_host(values, memory, 12, {}));
  EXPECT_EQ(values[2], 2.0f);
}

TEST(FakeCuda, CopiesBeyondAnAllocationFail) {
  const FakeCuda cuda;
  const auto device = cuda.device();
  char* const memory = static_cast<char*>(device->allocate(100).value());
  EXPECT_TRUE(device->fill(memory + 50, 0, 50, {}));
  EXPECT_FALSE(device->fill(memory + 50, 0, 51, {}));
  EXPECT_TRUE(device->free(memory));
  EXPECT_FALSE(device->fill(memory, 0, 1, {}));
  EXPECT_FALSE(device->free(memory));
}

TEST(FakeCuda, LoadsAndWaitsInACaptureAreViolations) {
  const FakeCuda cuda;
  const auto device = cuda.device();
  const Stream stream = device->create_stream().value();
  cuda.begin_capture(stream);
  EXPECT_FALSE(device->synchronize(stream));
  EXPECT_FALSE(cuda.end_capture(stream));
  EXPECT_EQ(cuda->violations, Texts{"cuStreamSynchronize while capturing"});
}

TEST(FakeCuda, LaunchThatMustLoadIsAViolation) {
  const FakeCuda cuda;
  cuda->driver_version = 12030;  // nothing can force the load
  cuda->lazy = true;
  const auto device = cuda.device();
  const auto artifact = testing::artifact_of(testing::specialize(
      "k", "/* diecast\nlaunch grid(1) block(1)\ntarget sm_80+\n*/\nDIECAST_KERNEL {}\n"));
  const auto code = device->load(*artifact, {}, nullptr).value();
  ASSERT_TRUE(device->launch(*code, {}, nullptr, {}));
  EXPECT_EQ(cuda->violations, Texts{"a launch of k had to load it"});
}

}  // namespace
}  // namespace diecast
