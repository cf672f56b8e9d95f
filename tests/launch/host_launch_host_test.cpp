// Launches on the host: every block once, on several threads and from several, and what they cost.
#include <diecast/launch/host_device.h>
#include <fenv.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "launch/host_kernels.h"

#if defined(DIECAST_HAS_HOST_DEVICE)

namespace diecast {
namespace {

using testing::launch;
using testing::launch_shape;
using testing::load_kernel;

TEST(HostLaunch, AtomicsOfAllBlocksMeet) {
  const auto device = *open_host_device({.threads = 4});
  const auto code = load_kernel(*device, R"(
HOST_KERNEL(none, meet) {
  const u32 id = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(argument<u32*>(p, 0), 1);
  atomicMax(argument<u32*>(p, 1), id * 2654435761u);
  atomicOr(argument<u32*>(p, 2), 1u << id % 31);
  atomicMax(argument<i32*>(p, 3), -static_cast<i32>(id) - 5);
  atomicAdd(argument<u64*>(p, 4), 1ull << 32);
  atomicMax(argument<u64*>(p, 4), 5ull);
}
)",
                                "meet");
  std::uint32_t sum = 0, max = 0, bits = 0, most = 0;
  std::int32_t low = std::numeric_limits<std::int32_t>::min();
  std::uint64_t wide = 0;
  launch(*device, *code, launch_shape(2000, 100), &sum, &max, &bits, &low, &wide).value();
  for (std::uint32_t id = 0; id < 200000; ++id) most = std::max(most, id * 2654435761u);
  EXPECT_EQ(sum, 200000u);
  EXPECT_EQ(max, most);
  EXPECT_EQ(bits, 0x7fffffffu);
  EXPECT_EQ(low, -5);
  EXPECT_GE(wide, std::uint64_t{199999} << 32);
}

// What a library built with -ffast-math, or a program that rounds its own way, has made of its
// threads: of the caller's, and of the workers, which are made as the thread is that opens them.
TEST(HostLaunch, ComputesAsGpusDoWhateverTheCallersArithmeticIs) {
  for (const char* exchange : {"none", "block"}) {
    fenv_t ours;
    fegetenv(&ours);
    fesetround(FE_DOWNWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // subnormals are 0
#endif
    const auto device = *open_host_device({.threads = 3});
    const auto code = load_kernel(*device, std::string("HOST_KERNEL(") + exchange + R"(, small) {
  const f32* x = argument<const f32*>(p, 0);
  u32* out = argument<u32*>(p, 1) + 2 * blockIdx.x;
  out[0] = __float_as_uint(x[0] * x[1]);
  if (gridDim.x == 0) __syncthreads();
  out[1] = __float_as_uint(x[2] / x[3]);
}
)",
                                  "small");
    const float x[] = {0x1p-126f, 0.5f, 1.0f, 3.0f};
    std::vector<std::uint32_t> out(2 * 999);
    launch(*device, *code, launch_shape(999, 1), x, out.data()).value();
    const int rounds = fegetround();
    volatile float least = 0x1p-126f;
    [[maybe_unused]] const bool flushes = least * 0.5f == 0;
    fesetenv(&ours);
    EXPECT_EQ(rounds, FE_DOWNWARD) << "the caller's own";
#if defined(__x86_64__)
    EXPECT_TRUE(flushes) << "the caller's own";
#endif
    for (std::size_t i = 0; i < out.size(); i += 2) {
      ASSERT_EQ(out[i], 0x00400000u) << exchange;
      ASSERT_EQ(out[i + 1], 0x3eaaaaabu) << exchange;
    }
  }
}

TEST(HostLaunch, EveryBlockHasItsDynamicSharedMemory) {
  const auto device = *open_host_device({.threads = 4});
  const auto code = load_kernel(*device, R"(
HOST_KERNEL(block, reverse) {
  u32* tile = dynamic_shared<u32>();
  const u32 id = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = id;
  __syncthreads();
  argument<u32*>(p, 0)[id] = tile[blockDim.x - 1 - threadIdx.x];
  if (reinterpret_cast<u64>(tile) % 1024 != 0) atomicAdd(argument<u32*>(p, 1), 1);
}
)",
                                "reverse");
  for (std::uint32_t threads : {1u, 33u, 256u}) {
    std::vector<std::uint32_t> out(300 * threads);
    std::uint32_t misaligned = 0;
    launch(*device, *code, launch_shape(300, threads, 4 * threads), out.data(), &misaligned)
        .value();
    EXPECT_EQ(misaligned, 0u);
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], i / threads * threads + threads - 1 - i % threads);
    }
  }
}

TEST(HostLaunch, AMillionBlocksRunOnceEach) {
  const auto device = *open_host_device({.threads = 4});
  const auto code = load_kernel(*device, R"(
HOST_KERNEL(none, mark) {
  const u64 row = blockIdx.y + u64(gridDim.y) * blockIdx.z;
  argument<unsigned char*>(p, 0)[blockIdx.x + gridDim.x * row] += 1;
}
)",
                                "mark");
  LaunchShape shape;
  shape.grid = {1009, 31, 33};
  std::vector<unsigned char> seen(1009 * 31 * 33 + 1);
  launch(*device, *code, shape, seen.data()).value();
  EXPECT_EQ(seen.back(), 0);
  seen.pop_back();
  EXPECT_EQ(seen, std::vector<unsigned char>(seen.size(), 1));
}

TEST(HostLaunch, SeveralThreadsLaunchAtTheSameTime) {
  const auto device = *open_host_device({.threads = 3});
  const auto code = load_kernel(*device, R"(
HOST_KERNEL(block, total) {
  __shared__ u32 part[64];
  part[threadIdx.x] = argument<u32>(p, 1) + threadIdx.x;
  __syncthreads();
  u32 sum = part[threadIdx.x] + part[threadIdx.x ^ 32];
  for (int i = 16; i != 0; i /= 2) sum += __shfl_xor_sync(~0u, sum, i);
  if (threadIdx.x == 0) atomicAdd(argument<u32*>(p, 0), sum);
}
)",
                                "total");
  std::vector<std::thread> callers;
  std::array<std::string, 4> problems;
  for (std::uint32_t caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (std::uint32_t round = 0; round < 50; ++round) {
        std::uint32_t sum = 0;
        const auto done = launch(*device, *code, launch_shape(1 + round % 20, 64), &sum, caller);
        const std::uint32_t expected = (1 + round % 20) * (64 * caller + 63 * 64 / 2);
        if (!done || sum != expected)
          problems[caller] = done ? "a wrong sum" : done.error().message();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(problems, (std::array<std::string, 4>{}));
}

TEST(HostLaunch, KernelsOfOneNameAndOtherSizesDoNotShareTheirSharedMemory) {
  // The loader would make one object of equally named statics of inline functions.
  const auto device = *open_host_device({.threads = 1});
  const auto source = [](int size) {
    return "constexpr int N = " + std::to_string(size) + R"(;
template <class T> struct Tile {
  DIECAST_DEVICE static T* memory() { __shared__ T tile[N]; return tile; }
};
template <class T> T* tile_of(T) { __shared__ T tile[N]; return tile; }
HOST_KERNEL(none, store) {
  for (int i = 0; i < N; ++i) { Tile<u32>::memory()[i] = N; tile_of(u32{})[i] = N; }
  u64* out = argument<u64*>(p, 0);
  out[0] = reinterpret_cast<u64>(Tile<u32>::memory());
  out[1] = reinterpret_cast<u64>(tile_of(u32{}));
}
)";
  };
  const auto small = load_kernel(*device, source(1), "store");
  const auto large = load_kernel(*device, source(4096), "store");
  std::array<std::uint64_t, 2> first{}, second{};
  launch(*device, *small, launch_shape(1, 1), first.data()).value();
  launch(*device, *large, launch_shape(1, 1), second.data()).value();
  EXPECT_NE(first[0], second[0]);
  EXPECT_NE(first[1], second[1]);
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The least processor time of seven launches, in nanoseconds of each of `parts`.
double cost(const std::string& code, const LaunchShape& shape, double parts) {
  const auto device = *open_host_device({.threads = 1});
  const auto kernel = load_kernel(*device, code, "timed");
  std::vector<float> x(1 << 20), y(1 << 20);
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    const double begin = thread_seconds();
    launch(*device, *kernel, shape, x.data(), y.data()).value();
    best = std::min(best, thread_seconds() - begin);
  }
  return best * 1e9 / parts;
}

TEST(HostLaunch, ThreadsBlocksAndWaitsCostNanoseconds) {
#if defined(DIECAST_SANITIZER)
  GTEST_SKIP() << "a sanitizer build is not for timing";
#endif
  // Several times what an idle machine shows, so that only another order of magnitude fails.
  const double thread = cost(R"(HOST_KERNEL(none, timed) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    argument<float*>(p, 1)[i] = argument<float*>(p, 0)[i] * 2;
  })",
                             launch_shape(4096, 256), 1 << 20);
  EXPECT_LT(thread, 5) << "ns a thread of `exchange none`";
  const double block = cost(R"(HOST_KERNEL(none, timed) {
    argument<float*>(p, 1)[blockIdx.x] = 1;
  })",
                            launch_shape(1 << 20, 1), 1 << 20);
  EXPECT_LT(block, 100) << "ns a block";
  const double barrier = cost(R"(HOST_KERNEL(block, timed) {
    for (int i = 0; i < 100; ++i) __syncthreads();
    argument<float*>(p, 1)[threadIdx.x] = 1;
  })",
                              launch_shape(64, 256), 64 * 256 * 100);
  EXPECT_LT(barrier, 200) << "ns a thread and barrier";
  const double shuffle = cost(R"(HOST_KERNEL(warp, timed) {
    float v = threadIdx.x;
    for (int i = 0; i < 100; ++i) v += __shfl_xor_sync(~0u, v, 1 << i % 5);
    argument<float*>(p, 1)[threadIdx.x] = v;
  })",
                              launch_shape(64, 256), 64 * 256 * 100);
  EXPECT_LT(shuffle, 200) << "ns a thread and shuffle";
  RecordProperty("thread_ns", std::to_string(thread));
  RecordProperty("block_ns", std::to_string(block));
  RecordProperty("barrier_ns", std::to_string(barrier));
  RecordProperty("shuffle_ns", std::to_string(shuffle));
}

}  // namespace
}  // namespace diecast

#endif
