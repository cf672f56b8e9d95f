// The host device through the interface of devices: memory, events, launches on several threads.
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "launch/host_kernels.h"

namespace diecast {
namespace {

using testing::compile_host;
using testing::launch;
using testing::launch_shape;
using testing::load_kernel;

#if !defined(DIECAST_HAS_HOST_DEVICE)

TEST(HostDevice, WithoutItsPackageOpeningNamesIt) {
  EXPECT_EQ(
      open_host_device({}).error().message(),
      "diecast: not_supported: this diecast was built without the host device\n  fix: apt-get "
      "install libboost-context-dev, then configure and build diecast again");
}

#else

std::string message_of(const Result<void>& result) {
  return result ? "" : result.error().message();
}

TEST(HostDevice, SaysWhatItIs) {
  const auto device = *open_host_device({.threads = 3});
  EXPECT_EQ(device->properties().cc, 0);
  EXPECT_EQ(device->properties().sm_count, 3);
  EXPECT_EQ(device->properties().max_threads, 1024);
  EXPECT_EQ(device->properties().shared_optin, 232448);
  EXPECT_GT(device->properties().memory_bytes, std::int64_t{1} << 28);
  const auto targets = device->targets();
  EXPECT_EQ(targets.back().name(), "host");
  EXPECT_EQ(targets.front().name(), targets.size() == 2 ? "host_v3" : "host");
  EXPECT_NE(*device->context_id(), *(*open_host_device({}))->context_id());
  EXPECT_EQ((*open_host_device({.host_level = 1}))->targets().size(), 1u);
}

TEST(HostDevice, OptionsComeFromTheEnvironmentAndAreChecked) {
  setenv("DIECAST_HOST_THREADS", "3", 1);
  EXPECT_EQ(HostDeviceOptions::from_environment().threads, 3);
  setenv("DIECAST_HOST_THREADS", "", 1);
  EXPECT_EQ(HostDeviceOptions::from_environment().threads, 0);
  setenv("DIECAST_HOST_THREADS", "many", 1);
  EXPECT_EQ(open_host_device(HostDeviceOptions::from_environment()).error().message(),
            "diecast: invalid_argument: the host device cannot have -1 threads\n  fix: set "
            "DIECAST_HOST_THREADS to 1 to 4096, or to 0: one a core");
  unsetenv("DIECAST_HOST_THREADS");
  EXPECT_EQ(open_host_device({.host_level = 2}).error().message(),
            "diecast: invalid_argument: there is no host level 2\n  fix: "
            "HostDeviceOptions::host_level is 0 (the best), 1 (host) or 3 (host_v3)");
}

TEST(HostDevice, MemoryIsAlignedCopiedAndFilled) {
  const auto device = *open_host_device({.threads = 1});
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    auto* memory = static_cast<unsigned char*>(*device->allocate(bytes));
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    device->fill(memory, 0xa5, bytes, {}).value();
    std::vector<unsigned char> back(bytes);
    device->copy_to_host(back.data(), memory, bytes, {}).value();
    EXPECT_EQ(back, std::vector<unsigned char>(bytes, 0xa5));
    device->copy_to_device(memory, std::vector<unsigned char>(bytes, 7).data(), bytes, {}).value();
    device->copy_on_device(back.data(), memory, bytes, {}).value();
    EXPECT_EQ(back, std::vector<unsigned char>(bytes, 7));
    device->free(memory).value();
  }
  EXPECT_TRUE(device->free(nullptr).ok());
  EXPECT_TRUE(device->fill(nullptr, 0, 0, {}).ok());
  EXPECT_EQ(message_of(device->copy_to_host(nullptr, device.get(), 8, {})),
            "diecast: missing_buffer: a copy of 8 bytes to a null pointer\n  fix: pass memory of "
            "Device::allocate");
  EXPECT_EQ(device->fill(nullptr, 0, 8, {}).error().code, ErrorCode::missing_buffer);
  const auto impossible = device->allocate(std::size_t{1} << 62);
  EXPECT_EQ(
      impossible.error().message(),
      cat("diecast: out_of_memory: no host memory for 4611686018427387904 bytes (4 EiB); this "
          "machine has ",
          human_bytes(device->properties().memory_bytes),
          "\n  fix: free memory, or work on smaller pieces"));
}

TEST(HostDevice, StreamsAreNullAndEventsMeasure) {
  const auto device = *open_host_device({.threads = 1});
  EXPECT_EQ((*device->create_stream()).handle, nullptr);
  EXPECT_FALSE(*device->is_capturing({}));
  int other = 0;
  EXPECT_EQ(message_of(device->synchronize({&other})),
            "diecast: invalid_argument: a stream of another device was given to the host device\n"
            "  fix: pass Stream{}: the host device works in order, before a call returns");
  EXPECT_EQ(device->fill(&other, 0, 4, {&other}).error().code, ErrorCode::invalid_argument);

  const Event begin = *device->create_event(), end = *device->create_event();
  device->record(begin, {}).value();
  EXPECT_EQ(device->elapsed_ms(begin, end).error().message(),
            "diecast: invalid_argument: an event that was not created or not recorded\n  fix: call "
            "Device::create_event and Device::record first");
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  device->record(end, {}).value();
  EXPECT_GE(*device->elapsed_ms(begin, end), 3.0);
  device->destroy_event(begin).value();
  device->destroy_event(end).value();
}

TEST(HostDevice, LoadRefusesWhatItCannotRun) {
  const auto device = *open_host_device({.threads = 1, .host_level = 1});
  Artifact cubin;
  cubin.symbol = "amax";
  cubin.target = *Target::parse("sm_90a");
  EXPECT_EQ(device->load(cubin, 0).error().message(),
            "diecast: target_not_supported: the host device cannot run amax built for sm_90a\n"
            "  fix: compile it for host");
  Artifact artifact = compile_host("HOST_KERNEL(none, nothing) {}", "nothing");
  artifact.symbol = "something";
  EXPECT_EQ(device->load(artifact, 0).error().message(),
            "diecast: file_corrupt: the shared object of something has no symbol of that name\n"
            "  fix: remove its cache entry and compile something again");
  artifact.symbol = "nothing";
  EXPECT_EQ(
      device->load(artifact, 232449).error().message(),
      "diecast: invalid_argument: a block asks for 232449 bytes of shared memory; it may have "
      "232448\n  fix: ask for at most 232448 bytes");
  artifact.target.host_level = 3;
  EXPECT_EQ(device->load(artifact, 0).error().code, ErrorCode::target_not_supported);
}

TEST(HostDevice, LaunchRefusesShapesThatNoDeviceOrNotThisOneHas) {
  const auto device = *open_host_device({.threads = 1});
  const auto code = load_kernel(*device, "HOST_KERNEL(none, nothing) {}", "nothing");
  LaunchShape shape;
  shape.cooperative = true;
  EXPECT_EQ(
      message_of(launch(*device, *code, shape)),
      "diecast: not_supported: the host device has no cooperative launches: no block may wait "
      "for another\n  fix: leave `host` out of the template's target line, or launch it on a "
      "GPU");
  shape = {};
  shape.cluster = 2;
  EXPECT_EQ(launch(*device, *code, shape).error().code, ErrorCode::not_supported);
  shape = {};
  shape.block = {64, 17, 1};
  EXPECT_EQ(message_of(launch(*device, *code, shape)),
            "diecast: invalid_argument: a block of 64 x 17 x 1 threads; it may have 1 to 1024\n"
            "  fix: launch blocks of at most 1024 threads");
  shape.block = {1u << 31, 2, 1};
  EXPECT_EQ(launch(*device, *code, shape).error().code, ErrorCode::invalid_argument);
  shape.block = {0, 1, 1};
  EXPECT_EQ(launch(*device, *code, shape).error().code, ErrorCode::invalid_argument);
  shape = {};
  shape.grid = {1, 65536, 1};
  EXPECT_EQ(
      message_of(launch(*device, *code, shape)),
      "diecast: invalid_argument: a grid of 1 x 65536 x 1 blocks\n  fix: keep the grid within "
      "2147483647 x 65535 x 65535");
  EXPECT_EQ(message_of(launch(*device, *code, launch_shape(0, 32))), "");
  EXPECT_EQ(message_of(launch(*device, *code, launch_shape(1, 32, 232448))), "");
}

TEST(HostDevice, AtomicsOfAllBlocksMeet) {
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

TEST(HostDevice, EveryBlockHasItsDynamicSharedMemory) {
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

TEST(HostDevice, AMillionBlocksRunOnceEach) {
  const auto device = *open_host_device({.threads = 4});
  const auto code = load_kernel(*device, R"(
HOST_KERNEL(none, mark) {
  argument<unsigned char*>(p, 0)[blockIdx.x + gridDim.x * (blockIdx.y + u64(gridDim.y) * blockIdx.z)] += 1;
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

TEST(HostDevice, SeveralThreadsLaunchAtTheSameTime) {
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
        if (!done || sum != expected) problems[caller] = message_of(done) + " wrong sum";
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(problems, (std::array<std::string, 4>{}));
}

TEST(HostDevice, KernelsOfOneNameAndOtherSizesDoNotShareTheirSharedMemory) {
  // The loader would make one object of equally named statics of inline functions.
  const auto device = *open_host_device({.threads = 1});
  const auto source = [](int size) {
    return "constexpr int N = " + std::to_string(size) + R"(;
template <class T> struct Tile { DIECAST_DEVICE static T* memory() { __shared__ T tile[N]; return tile; } };
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

#endif

}  // namespace
}  // namespace diecast
