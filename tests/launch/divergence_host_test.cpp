// The errors of threads that do not meet: their whole texts, and that the stacks of threads that
// never came back serve again.
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "launch/host_kernels.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

using testing::launch;
using testing::launch_shape;
using testing::load_kernel;

struct Divergence {
  const char* exchange;
  const char* code;  // line 2 of test.cu and on
  const char* message;
};

void PrintTo(const Divergence& sample, std::ostream* to) { *to << sample.exchange; }

class DivergenceTest : public ::testing::TestWithParam<Divergence> {};

TEST_P(DivergenceTest, IsAnErrorThatSaysWhoWaitsWhere) {
  const Divergence& sample = GetParam();
  auto device = *open_host_device({.threads = 2});
  const std::string code =
      std::string("HOST_KERNEL(") + sample.exchange +
      ", broken) { [[maybe_unused]] const u32 t = threadIdx.x;\n" + sample.code +
      "\n}\nHOST_KERNEL(block, fine) { __syncthreads();\natomicAdd(argument<u32*>(p, 0), 1); }\n";
  const auto broken = load_kernel(*device, code, "broken");
  const auto fine = load_kernel(*device, code, "fine");
  for (int round = 0; round < 3; ++round) {
    const auto failed = launch(*device, *broken, launch_shape(40, 128));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().message(), sample.message);
    std::uint32_t count = 0;
    launch(*device, *fine, launch_shape(40, 128), &count).value();
    EXPECT_EQ(count, 40u * 128);
  }
}

INSTANTIATE_TEST_SUITE_P(
    BlockMachine, DivergenceTest,
    ::testing::Values(
        Divergence{"block", "if (t < 64) return;\n__syncthreads();",
                   "diecast: divergent_barrier: kernel broken, block (0, 0, 0): of 128 threads 64 "
                   "wait at __syncthreads (test.cu:3), 64 have ended\n  fix: let all threads that "
                   "must meet reach test.cu:3: no return or condition before it may differ between "
                   "them"},
        Divergence{
            "block", "if (blockIdx.x == 7 && t == 3)\n__syncthreads();",
            "diecast: divergent_barrier: kernel broken, block (7, 0, 0): of 128 threads 1 "
            "waits at __syncthreads (test.cu:3), 127 have ended\n  fix: let all threads that "
            "must meet reach test.cu:3: no return or condition before it may differ between "
            "them"},
        Divergence{
            "block", "if (t % 2)\n__syncthreads();\nelse\n__syncthreads();",
            "diecast: divergent_barrier: kernel broken, block (0, 0, 0): of 128 threads 64 "
            "wait at __syncthreads (test.cu:5), 64 wait at __syncthreads (test.cu:3)\n  fix: "
            "let all threads that must meet reach test.cu:5: no return or condition before "
            "it may differ between them"},
        Divergence{
            "block",
            "if (t < 32) __shfl_sync(~0u, t, 0);\nelse __syncthreads();\n"
            "__syncthreads();",
            "diecast: divergent_barrier: kernel broken, block (0, 0, 0): of 128 threads 32 "
            "wait at __syncthreads (test.cu:4), 96 wait at __syncthreads (test.cu:3)\n  fix: "
            "let all threads that must meet reach test.cu:4: no return or condition before "
            "it may differ between them"},
        Divergence{"warp", "if (t != 70)\n__shfl_xor_sync(0xffffffffu, t, 1);",
                   "diecast: divergent_barrier: kernel broken, block (0, 0, 0), warp 2: of 32 "
                   "threads 31 wait at a shuffle (test.cu:3, mask 0xffffffff), 1 has ended\n  fix: "
                   "let all threads that must meet reach test.cu:3: no return or condition before "
                   "it may differ between them"},
        Divergence{
            "warp", "if (t % 2) __ballot_sync(~0u, 1);\nelse __syncwarp();",
            "diecast: divergent_barrier: kernel broken, block (0, 0, 0), warp 0: of 32 "
            "threads 16 wait at __syncwarp (test.cu:3, mask 0xffffffff), 16 wait at a ballot "
            "(test.cu:2, mask 0xffffffff)\n  fix: let all threads that must meet reach "
            "test.cu:3: no return or condition before it may differ between them"},
        Divergence{
            "warp", "__any_sync(t < 64 ? 0xffffffffu : 0x7fffffffu, 1);",
            "diecast: divergent_barrier: kernel broken, block (0, 0, 0), warp 2: of 32 "
            "threads 1 waits at a ballot (test.cu:2, mask 0x7fffffff), 31 have ended\n  fix: "
            "let all threads that must meet reach test.cu:2: no return or condition before "
            "it may differ between them"},
        Divergence{"warp", "__syncthreads();",
                   "diecast: divergent_barrier: kernel broken, block (0, 0, 0), warp 0: of 32 "
                   "threads 32 wait at __syncthreads (test.cu:2)\n  fix: say `exchange block` in "
                   "the header of broken.cu; with `exchange warp` a block has no barrier"},
        Divergence{"none", "if (t == 5) __syncthreads();",
                   "diecast: divergent_barrier: kernel broken says `exchange none`, but a thread "
                   "waits at __syncthreads (test.cu:2)\n  fix: say `exchange block` in the header "
                   "of broken.cu"},
        Divergence{"none", "__shfl_down_sync(~0u, t, 1);",
                   "diecast: divergent_barrier: kernel broken says `exchange none`, but a thread "
                   "waits at a shuffle (test.cu:2, mask 0xffffffff)\n  fix: say `exchange warp` in "
                   "the header of broken.cu"}));

}  // namespace
}  // namespace diecast

#endif
