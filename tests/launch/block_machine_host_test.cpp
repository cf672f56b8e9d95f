// A block's threads as fibers: indices, barriers, warp exchanges.
#include <diecast/launch/block_machine.h>
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <numeric>

#include "launch/host_kernels.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

using testing::launch;
using testing::launch_shape;
using testing::load_kernel;

class BlockMachineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { device_ = *open_host_device({.threads = 2}); }
  static void TearDownTestSuite() { device_.reset(); }

  // The kernel `name` of `code`; the code line after R"( is line 2 of test.cu.
  static std::shared_ptr<ResidentCode> kernel(std::string_view code, const std::string& name) {
    return load_kernel(*device_, code, name);
  }

  static std::shared_ptr<Device> device_;
};

std::shared_ptr<Device> BlockMachineTest::device_;

TEST_F(BlockMachineTest, TheLibrarysStructsAreThoseOfTheDeviceHeader) {
  const auto layout = kernel(R"(
HOST_KERNEL(none, layout) {
  const u64 values[] = {
    sizeof(HostWait), __builtin_offsetof(HostWait, kind), __builtin_offsetof(HostWait, mask),
    __builtin_offsetof(HostWait, source), __builtin_offsetof(HostWait, line),
    __builtin_offsetof(HostWait, file), __builtin_offsetof(HostWait, value),
    HostWait::barrier, HostWait::warp_barrier, HostWait::shuffle, HostWait::ballot,
    sizeof(HostBlock), __builtin_offsetof(HostBlock, grid), __builtin_offsetof(HostBlock, dim),
    __builtin_offsetof(HostBlock, index), __builtin_offsetof(HostBlock, shared_bytes),
    __builtin_offsetof(HostBlock, shared), __builtin_offsetof(HostBlock, machine),
    __builtin_offsetof(HostBlock, run_threads), __builtin_offsetof(HostBlock, wait),
    __builtin_offsetof(HostBlock, fail), __builtin_offsetof(HostBlock, print),
    sizeof(HostFault), __builtin_offsetof(HostFault, what),
    __builtin_offsetof(HostFault, file), __builtin_offsetof(HostFault, line),
    __builtin_offsetof(HostFault, thread),
    HostBlock::warp, HostBlock::block};
  u64* out = argument<u64*>(p, 0);
  for (u64 value : values) *out++ = value;
}
)",
                             "layout");
  const std::vector<std::uint64_t> expected = {sizeof(HostWait),
                                               offsetof(HostWait, kind),
                                               offsetof(HostWait, mask),
                                               offsetof(HostWait, source),
                                               offsetof(HostWait, line),
                                               offsetof(HostWait, file),
                                               offsetof(HostWait, value),
                                               HostWait::barrier,
                                               HostWait::warp_barrier,
                                               HostWait::shuffle,
                                               HostWait::ballot,
                                               sizeof(HostBlock),
                                               offsetof(HostBlock, grid),
                                               offsetof(HostBlock, dim),
                                               offsetof(HostBlock, index),
                                               offsetof(HostBlock, shared_bytes),
                                               offsetof(HostBlock, shared),
                                               offsetof(HostBlock, machine),
                                               offsetof(HostBlock, run_threads),
                                               offsetof(HostBlock, wait),
                                               offsetof(HostBlock, fail),
                                               offsetof(HostBlock, print),
                                               sizeof(HostFault),
                                               offsetof(HostFault, what),
                                               offsetof(HostFault, file),
                                               offsetof(HostFault, line),
                                               offsetof(HostFault, thread),
                                               HostBlock::warp,
                                               HostBlock::block};
  std::vector<std::uint64_t> values(expected.size() + 1, 77);
  launch(*device_, *layout, launch_shape(1, 1), values.data()).value();
  EXPECT_EQ(values.back(), 77u);
  values.pop_back();
  EXPECT_EQ(values, expected);
}

TEST_F(BlockMachineTest, EveryExchangeGivesEveryThreadItsOwnIndices) {
  constexpr std::string_view kCode = R"(
DIECAST_DEVICE void note(void** p) {
  u32* out = argument<u32*>(p, 0);
  const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const u32 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] +=
      1 + threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x +
      10000 * blockIdx.y + 100000 * blockIdx.z;
}
HOST_KERNEL(none, none) { note(p); }
HOST_KERNEL(warp, warp) { __syncwarp(); note(p); }
HOST_KERNEL(block, block) { __syncthreads(); note(p); __syncthreads(); }
)";
  LaunchShape shape;
  shape.grid = {3, 2, 4};
  shape.block = {7, 5, 3};
  std::vector<std::uint32_t> expected;
  for (std::uint32_t block = 0; block < 24; ++block) {
    for (std::uint32_t t = 0; t < 105; ++t) {
      expected.push_back(1 + t % 7 + 10 * (t / 7 % 5) + 100 * (t / 35) + 1000 * (block % 3) +
                         10000 * (block / 3 % 2) + 100000 * (block / 6));
    }
  }
  for (const char* name : {"none", "warp", "block"}) {
    std::vector<std::uint32_t> out(24 * 105);
    launch(*device_, *kernel(kCode, name), shape, out.data()).value();
    EXPECT_EQ(out, expected) << name;
  }
}

TEST_F(BlockMachineTest, ABlockOfAnySizeReducesThroughSharedMemory) {
  const auto sum = kernel(R"(
HOST_KERNEL(block, sum) {
  __shared__ u32 part[1024];
  const u32* x = argument<u32*>(p, 0);
  part[threadIdx.x] = x[threadIdx.x];
  for (u32 width = 1; width < blockDim.x; width *= 2) {
    __syncthreads();
    const u32 other = threadIdx.x + width;
    const u32 value = other < blockDim.x ? part[other] : 0;
    __syncthreads();
    part[threadIdx.x] += value;
  }
  if (threadIdx.x == 0) *argument<u32*>(p, 1) = part[0];
}
)",
                          "sum");
  std::vector<std::uint32_t> x(1024);
  for (std::uint32_t i = 0; i < 1024; ++i) x[i] = 1 + i * i;
#if defined(__SANITIZE_THREAD__)
  constexpr std::uint32_t kStep = 33;  // a switch costs it microseconds
#else
  constexpr std::uint32_t kStep = 1;
#endif
  for (std::uint32_t threads = 1; threads <= 1024; threads += kStep) {
    std::uint32_t out = 0;
    launch(*device_, *sum, launch_shape(1, threads), x.data(), &out).value();
    ASSERT_EQ(out, std::accumulate(x.begin(), x.begin() + threads, 0u)) << threads << " threads";
  }
}

// What PTX's shfl says of each kind: the lane that is read.
unsigned source_lane(int kind, unsigned lane, unsigned operand, unsigned width) {
  const unsigned first = lane & ~(width - 1), last = first + width - 1;
  switch (kind) {
    case 0:
      return first + operand % width;
    case 1:
      return (lane ^ operand) <= last ? lane ^ operand : lane;
    case 2:
      return lane >= first + operand ? lane - operand : lane;
    default:
      return lane + operand <= last ? lane + operand : lane;
  }
}

TEST_F(BlockMachineTest, ShufflesReadTheLaneThatCudaReads) {
  constexpr std::string_view kCode = R"(
HOST_KERNEL(warp, shuffle) {
  const u32 width = argument<u32>(p, 1), operand = argument<u32>(p, 2);
  const V value = static_cast<V>(1000.5 + threadIdx.x);
  V* out = argument<V*>(p, 0) + threadIdx.x;
  out[0] = __shfl_sync(~0u, value, operand, width);
  out[64] = __shfl_xor_sync(~0u, value, operand, width);
  out[128] = __shfl_up_sync(~0u, value, operand, width);
  out[192] = __shfl_down_sync(~0u, value, operand, width);
}
)";
  const auto check = [&]<class T>(const std::string& type, T) {
    const auto code = kernel("using V = " + type + ";\n" + std::string(kCode), "shuffle");
    for (std::uint32_t width : {32u, 16u, 8u, 4u, 2u, 1u}) {
      for (std::uint32_t operand = 0; operand < 34; ++operand) {
        std::vector<T> out(256);
        launch(*device_, *code, launch_shape(1, 64), out.data(), width, operand).value();
        for (unsigned i = 0; i < 256; ++i) {
          const unsigned thread = i % 64, lane = thread % 32;
          const unsigned source = source_lane(static_cast<int>(i / 64), lane, operand, width);
          ASSERT_EQ(out[i], static_cast<T>(1000.5 + (thread - lane + source)))
              << type << " kind " << i / 64 << " width " << width << " operand " << operand;
        }
      }
    }
  };
  check("i32", std::int32_t{});
  check("u32", std::uint32_t{});
  check("i64", std::int64_t{});
  check("u64", std::uint64_t{});
  check("f32", float{});
  check("double", double{});
}

TEST_F(BlockMachineTest, VotesCountTheLanesOfTheMaskThatExist) {
  const auto vote = kernel(R"(
HOST_KERNEL(warp, vote) {
  u32* out = argument<u32*>(p, 0) + 4 * threadIdx.x;
  out[0] = __ballot_sync(~0u, threadIdx.x % 3 == 0);
  out[1] = __any_sync(~0u, threadIdx.x == 39) | __all_sync(~0u, threadIdx.x < 32) << 1;
  // Two halves of a warp vote apart, the upper one twice.
  const u32 half = threadIdx.x & 16 ? 0xffff0000u : 0x0000ffffu;
  out[2] = __ballot_sync(half, threadIdx.x & 1);
  out[3] = threadIdx.x & 16 ? __ballot_sync(half, threadIdx.x & 2) : 5;
}
)",
                           "vote");
  std::vector<std::array<std::uint32_t, 4>> out(40);  // the second warp has 8 lanes
  launch(*device_, *vote, launch_shape(1, 40), out.data()).value();
  for (unsigned i = 0; i < 40; ++i) {
    EXPECT_EQ(out[i][0], i < 32 ? 0x49249249u : 0x92u) << i;
    EXPECT_EQ(out[i][1], i < 32 ? 2u : 1u) << i;
    EXPECT_EQ(out[i][2], i >= 32 ? 0xaau : i >= 16 ? 0xaaaa0000u : 0xaaaau) << i;
    EXPECT_EQ(out[i][3], i >= 16 && i < 32 ? 0xcccc0000u : 5u) << i;
  }
}

TEST_F(BlockMachineTest, ALaneThatRunsAheadTakesNothingFromTheOthers) {
  // Lane 0 exchanges with each other lane in turn; lane i comes back i times with lane 0's values.
  const auto ahead = kernel(R"(
HOST_KERNEL(warp, ahead) {
  u32 sum = 0;
  for (u32 round = 0; round < 50; ++round) {
    for (u32 i = 1; i < 32; ++i) {
      if (threadIdx.x == 0) sum += __shfl_sync(1u | 1u << i, round, i) * i;
      if (threadIdx.x == i) sum += __shfl_sync(1u | 1u << i, round * 100 + i, 0);
    }
  }
  argument<u32*>(p, 0)[threadIdx.x] = sum;
}
)",
                            "ahead");
  std::vector<std::uint32_t> out(32);
  launch(*device_, *ahead, launch_shape(1, 32), out.data()).value();
  std::uint32_t expected = 0;
  for (std::uint32_t round = 0; round < 50; ++round) {
    for (std::uint32_t i = 1; i < 32; ++i) expected += (round * 100 + i) * i;
  }
  EXPECT_EQ(out[0], expected);
  for (unsigned i = 1; i < 32; ++i) EXPECT_EQ(out[i], 49u * 50 / 2);
}

TEST_F(BlockMachineTest, ValuesOnAThreadsStackOutliveItsBarriers) {
  const auto rotate = kernel(R"(
HOST_KERNEL(block, rotate) {
  __shared__ u32 ring[96];
  u32 mine[16];
  for (u32 i = 0; i < 16; ++i) mine[i] = threadIdx.x * 16 + i;
  for (u32 round = 0; round < 96; ++round) {
    for (u32 i = 0; i < 16; ++i) {
      ring[threadIdx.x] = mine[i];
      __syncthreads();
      mine[i] = ring[(threadIdx.x + 1) % 96];
      __syncthreads();
    }
  }
  u32 wrong = 0;
  for (u32 i = 0; i < 16; ++i) wrong += mine[i] != threadIdx.x * 16 + i;
  if (wrong) atomicAdd(argument<u32*>(p, 0), wrong);
  atomicAdd(argument<u32*>(p, 1), 1);
}
)",
                             "rotate");
  std::uint32_t wrong = 0, threads = 0;
  launch(*device_, *rotate, launch_shape(5, 96), &wrong, &threads).value();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(threads, 480u);
}

}  // namespace
}  // namespace diecast

#endif
