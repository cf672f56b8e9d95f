// The host device through the interface of devices: memory, events, what load and launch refuse.
#include <diecast/base/sanitizers.h>
#include <diecast/base/text.h>
#include <diecast/launch/host_device.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "child_process.h"
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

#if defined(DIECAST_ASAN)
// Hidden, as the library's symbols are, AddressSanitizer would take its own: leaks would then be
// searched in thread-local memory that a closed kernel had.
TEST(HostDevice, TellsAddressSanitizerHowToSearchForLeaks) {
  using Options = const char* (*)();
  const auto options = reinterpret_cast<Options>(dlsym(RTLD_DEFAULT, "__asan_default_options"));
  ASSERT_NE(options, nullptr);
  EXPECT_STREQ(options(), "intercept_tls_get_addr=0");
}
#endif

// A program that opens its device in every call has one.
TEST(HostDevice, OpenedTwiceIsOne) {
  const auto device = *open_host_device({.threads = 2});
  EXPECT_EQ(*open_host_device({.threads = 2}), device);
  EXPECT_NE(*open_host_device({.threads = 3}), device);
  const bool levels = device->targets().size() == 2;
  EXPECT_EQ(*open_host_device({.threads = 2, .host_level = 1}) == device, !levels);
  EXPECT_EQ(testing::in_child([&] {
              const auto first = open_host_device({.threads = 2});
              const auto second = open_host_device({.threads = 2});
              return first && second && *first == *second && *first != device ? 0 : 1;
            }),
            0);
  EXPECT_EQ(*open_host_device({.threads = 2}), device);
}

TEST(HostDevice, LivesNoLongerThanItsUsers) {
  std::weak_ptr<Device> watched = *open_host_device({.threads = 2});
  EXPECT_TRUE(watched.expired());
  const auto threads = [] {
    return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                 std::filesystem::directory_iterator());
  };
  const auto device = *open_host_device({.threads = 3});
  const auto before = threads();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*open_host_device({.threads = 3}), device);
  EXPECT_EQ(threads(), before);
}

TEST(HostDevice, OpenedByManyThreadsAtOnceIsOne) {
  std::vector<std::shared_ptr<Device>> opened(8);
  std::vector<std::thread> threads;
  for (auto& each : opened)
    threads.emplace_back([&each] { each = *open_host_device({.threads = 4}); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : opened) EXPECT_EQ(each, opened[0]);
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
  EXPECT_NE(*device->context_id(), *(*open_host_device({.threads = 5}))->context_id());
  EXPECT_EQ((*open_host_device({.host_level = 1}))->targets().size(), 1u);
}

TEST(HostDevice, OptionsComeFromTheEnvironmentAndAreChecked) {
  setenv("DIECAST_HOST_THREADS", "3", 1);
  EXPECT_EQ(HostDeviceOptions::from_environment().threads, 3);
  EXPECT_EQ((*open_host_device())->properties().sm_count, 3);  // as Runtime::create() reads its own
  EXPECT_NE((*open_host_device({.threads = 2}))->properties().sm_count, 3);
  setenv("DIECAST_HOST_THREADS", "", 1);
  EXPECT_EQ(HostDeviceOptions::from_environment().threads, 0);
  setenv("DIECAST_HOST_THREADS", "many", 1);
  EXPECT_EQ(open_host_device(HostDeviceOptions::from_environment()).error().message(),
            "diecast: invalid_argument: DIECAST_HOST_THREADS is \"many\", which is no number of "
            "threads\n  fix: set DIECAST_HOST_THREADS to 1 to 4096, or to 0: one a core");
  setenv("DIECAST_HOST_THREADS", "5000", 1);
  EXPECT_EQ(open_host_device(HostDeviceOptions::from_environment()).error().what,
            "the host device cannot have 5000 threads");
  unsetenv("DIECAST_HOST_THREADS");
  EXPECT_EQ(open_host_device({.host_level = 2}).error().message(),
            "diecast: invalid_argument: there is no host level 2\n  fix: "
            "HostDeviceOptions::host_level is 0 (the best), 1 (host) or 3 (host_v3)");
}

TEST(HostDevice, MemoryIsAlignedCopiedAndFilled) {
  const auto device = *open_host_device({.threads = 1});
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    auto* memory = static_cast<unsigned char*>(*device->allocate(bytes));
    EXPECT_EQ(memory == nullptr, bytes == 0);
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

TEST(HostDevice, CapturedCallsAreMadeAgain) {
  const auto device = *open_host_device({.threads = 1});
  int made = 0;
  const auto calls = device->capture({}, [&]() -> Result<void> {
    if (++made < 3) return {};
    return Error{ErrorCode::invalid_argument, "enough", "stop"};
  });
  ASSERT_TRUE(calls.ok());
  EXPECT_EQ(made, 0);
  EXPECT_TRUE((*calls)->repeat().ok());
  EXPECT_TRUE((*calls)->repeat().ok());
  EXPECT_EQ((*calls)->repeat().error().what, "enough");
}

TEST(HostDevice, LoadRefusesWhatItCannotRun) {
  const auto device = *open_host_device({.threads = 1, .host_level = 1});
  Artifact cubin;
  cubin.symbol = "amax";
  cubin.target = *Target::parse("sm_90a");
  EXPECT_EQ(device->load(cubin, {}, nullptr).error().message(),
            "diecast: target_not_supported: the host device cannot run amax built for sm_90a\n"
            "  fix: compile it for host");
  Artifact artifact = compile_host("HOST_KERNEL(none, nothing) {}", "nothing");
  artifact.symbol = "something";
  EXPECT_EQ(device->load(artifact, {}, nullptr).error().message(),
            "diecast: file_corrupt: the shared object of something has no symbol of that name\n"
            "  fix: remove its cache entry and compile something again");
  artifact.symbol = "nothing";
  EXPECT_EQ(
      device->load(artifact, {.shared_bytes = 232449}, nullptr).error().message(),
      "diecast: invalid_argument: a block asks for 232449 bytes of shared memory; it may have "
      "232448\n  fix: ask for at most 232448 bytes");
  artifact.target.host_level = 3;
  EXPECT_EQ(device->load(artifact, {}, nullptr).error().code, ErrorCode::target_not_supported);
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

#endif

}  // namespace
}  // namespace diecast
