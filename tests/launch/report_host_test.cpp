// What a kernel says of itself on the host: a failed assert is the launch's error and the process
// goes on; printf prints, up to a bound.
#include <diecast/launch/host/launch_output.h>
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "launch/host_kernels.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

using testing::launch;
using testing::launch_shape;
using testing::load_kernel;

class AssertOnHost : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<ResidentCode> kernel(const std::string& code, const std::string& name) {
    return load_kernel(*device_,
                       "HOST_KERNEL(" + std::string(GetParam()) + ", " + name + ") {" + code + "}",
                       name);
  }
  const std::shared_ptr<Device> device_ = *open_host_device({.threads = 2});
};

// Of blocks 7 to 39 the first, of its threads the first that comes there.
TEST_P(AssertOnHost, IsTheErrorOfTheLaunchAndThreadsServeAgain) {
  const auto broken = kernel(R"(
    const u32 block = blockIdx.x;
    assert(block < 7 || threadIdx.x != 70);
)",
                             "broken");
  const auto fine = kernel("atomicAdd(argument<u32*>(p, 0), 1);", "fine");
  for (int round = 0; round < 3; ++round) {
    const auto failed = launch(*device_, *broken, launch_shape(40, 128));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().message(),
              "diecast: assertion_failed: kernel broken, block (7, 0, 0), thread (70, 0, 0): "
              "test.cu:3: assert(block < 7 || threadIdx.x != 70)\n"
              "  fix: look at what this thread has there, by printf or in a debugger; other blocks "
              "may have run, so what the launch writes is not to be used");
    std::uint32_t count = 0;
    launch(*device_, *fine, launch_shape(40, 128), &count).value();
    EXPECT_EQ(count, 40u * 128);
  }
}

TEST_P(AssertOnHost, EndsTheThreadThere) {
  const auto broken =
      kernel("u32* x = argument<u32*>(p, 0); assert(x == nullptr); *x = 1;", "broken");
  std::uint32_t x = 0;
  EXPECT_FALSE(launch(*device_, *broken, launch_shape(1, 64), &x).ok());
  EXPECT_EQ(x, 0u);
}

INSTANTIATE_TEST_SUITE_P(Exchanges, AssertOnHost, ::testing::Values("none", "warp", "block"),
                         [](const auto& exchange) { return std::string(exchange.param); });

// Half of the threads wait for the one that fails: its words are told, not theirs.
TEST(AssertsOnHost, AreToldBeforeThoseThatWait) {
  const auto device = *open_host_device({.threads = 2});
  const auto broken = load_kernel(*device, R"(
HOST_KERNEL(block, broken) {
  if (threadIdx.x == 90) assert(!"reached");
  __syncthreads();
}
)",
                                  "broken");
  const auto failed = launch(*device, *broken, launch_shape(3, 128));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::assertion_failed);
  EXPECT_NE(failed.error().what.find("thread (90, 0, 0): test.cu:3: assert(!\"reached\")"),
            std::string::npos)
      << failed.error().what;
}

std::string printed_by(const std::string& code, const LaunchShape& shape) {
  const auto device = *open_host_device({.threads = 2});
  const auto kernel = load_kernel(*device, "HOST_KERNEL(none, says) {" + code + "}", "says");
  ::testing::internal::CaptureStdout();
  launch(*device, *kernel, shape).value();
  return ::testing::internal::GetCapturedStdout();
}

TEST(PrintfOnHost, PrintsBeforeTheLaunchReturns) {
  EXPECT_EQ(
      printed_by("printf(\"%s %d of %u: %.3f %lld\\n\", \"thread\", 1, blockDim.x, 0.5, 7LL);",
                 launch_shape(1, 2)),
      "thread 1 of 2: 0.500 7\nthread 1 of 2: 0.500 7\n");
}

TEST(PrintfOnHost, FloodsLoseLinesAndSayHowMany) {
  const std::string line = "a line of exactly thirty-two b.\n";
  ASSERT_EQ(line.size(), 32u);
  const std::string text =
      printed_by("printf(\"a line of exactly thirty-two b.\\n\");", launch_shape(400, 128));
  const std::size_t lost = 400 * 128 - LaunchOutput::kMostBytes / 32;
  EXPECT_EQ(text.size() - text.rfind("[says"),
            ("[says: beyond 1048576 bytes of a launch, " + std::to_string(lost) +
             " calls of printf were lost]\n")
                .size());
  EXPECT_NE(text.find(std::to_string(lost) + " calls"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), LaunchOutput::kMostBytes / 32 + 1);
}

TEST(PrintfOnHost, ALongTextIsCutOff) {
  EXPECT_EQ(printed_by("printf(\"%2000d\", 7);", launch_shape(1, 1)),
            std::string(LaunchOutput::kMostOfOneCall - 1, ' '));
}

}  // namespace
}  // namespace diecast

#endif
