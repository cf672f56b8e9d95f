// Machines that serve what others compiled: without a compiler, with one that is too old, from
// bundles only. The target is the best one that can be had there.
#include <diecast/cache/bundle.h>
#include <gtest/gtest.h>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;
using Origin = Resolved::Origin;
void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }
constexpr char kNoLibrary[] = "/nonexistent/libnvrtc.so.13";

class Serving : public ::testing::Test {
 protected:
  Serving() { machine_.cuda->gpus[0].cc = 103; }

  void warm(const std::string& target) {
    const auto warmed = machine_.runtime();
    ASSERT_TRUE(warmed->resolve(warmed->specialize("amax IN=bf16 @ " + target).value()));
  }
  // The target taken for the device and how its kernel was come by, or the error.
  std::string served(const RuntimeOptions& options) {
    const auto runtime = Runtime::create(options).value();
    const auto device = machine_.cuda.device();
    const auto one = runtime->specialize_for("amax", {{"IN", Value::of(DType::bf16)}}, *device);
    if (!one) return std::string(code_word(one.error().code));
    const auto kernel = runtime->preload(*one, device);
    return one->target().name() +
           (kernel ? " resident" : " " + std::string(code_word(kernel.error().code)));
  }
  RuntimeOptions without_compiler() {
    RuntimeOptions options = machine_.options();
    options.nvrtc.path = kNoLibrary;
    return options;
  }
  FakeMachine machine_;
};

TEST_F(Serving, WithoutACompilerTakesTheBestTargetThatTheCacheHas) {
  EXPECT_EQ(served(without_compiler()), "sm_103a compiler_unavailable");
  warm("sm_100f");
  EXPECT_EQ(served(without_compiler()), "sm_100f resident");
  warm("sm_103a");
  EXPECT_EQ(served(without_compiler()), "sm_103a resident");
}

TEST_F(Serving, ACompilerThatIsTooOldHidesNothingThatTheCacheHas) {
  warm("sm_103a");
  machine_.nvrtc.set("ARCHS", "80 90");
  EXPECT_EQ(served(machine_.options()), "sm_103a resident");
  RuntimeOptions exact = machine_.options();
  exact.cache_compilers = CompilerChoice::exact;
  EXPECT_EQ(served(exact), "target_not_supported");
  RuntimeOptions off = machine_.options();
  off.cache = "off";
  EXPECT_EQ(served(off), "target_not_supported");
}

TEST_F(Serving, UnderRequireHitNoCompilerIsOpened) {
  warm("sm_100f");
  const testing::FakeNvrtc another;
  RuntimeOptions options = machine_.options();
  options.nvrtc = another.search();
  options.cache_policy = CachePolicy::require_hit;
  EXPECT_EQ(served(options), "sm_100f resident");
  EXPECT_EQ(testing::text_of("/proc/self/maps").find(another.path()), std::string::npos);
  options.cache_policy = CachePolicy::automatic;
  EXPECT_EQ(served(options), "sm_103a resident");
  EXPECT_NE(testing::text_of("/proc/self/maps").find(another.path()), std::string::npos);
  options.cache_policy = CachePolicy::require_hit;
  options.cache = "ro:" + machine_.cache / "empty";
  EXPECT_EQ(served(options), "sm_103a not_cached");
}

TEST_F(Serving, WhatIsFoundForADeviceIsReadOnce) {
  warm("sm_100f");
  const auto runtime = Runtime::create(without_compiler()).value();
  const auto device = machine_.cuda.device();
  for (int i = 0; i < 2; ++i) {
    const auto one = runtime->specialize_for("amax", {{"IN", Value::of(DType::bf16)}}, *device);
    ASSERT_TRUE(runtime->preload(one.value(), device).ok());
  }
  EXPECT_EQ(runtime->counters().disk_hits, 1u);
}

TEST_F(Serving, AProcessWithABundleAndNothingElseLaunches) {
  warm("sm_103a");
  testing::TemporaryDirectory folder;
  BundleWriter writer = BundleWriter::create(folder / "kernels.dcb").value();
  ASSERT_TRUE(
      DiskCache::open(machine_.cache.path()).value()->read_all([&](const StoredEntry& stored) {
        ASSERT_TRUE(writer.add(stored.file));
      }));
  ASSERT_TRUE(writer.commit());

  RuntimeOptions options = without_compiler();
  options.cache = "bundle:" + folder / "kernels.dcb";
  options.cache_policy = CachePolicy::require_hit;
  const auto server = Runtime::create(options).value();
  const auto device = machine_.cuda.device();
  const auto one = server->specialize_for("amax", {{"IN", Value::of(DType::bf16)}}, *device);
  const auto kernel = server->preload(one.value(), device).value();
  server->freeze();
  const KernelArgument arguments[] = {KernelArgument::tensor(DType::bf16, address(0x1000)),
                                      KernelArgument::tensor(DType::f32, address(0x2000)),
                                      KernelArgument::size(64), KernelArgument::size(4096)};
  ASSERT_TRUE(kernel->launch(arguments, {}));
  EXPECT_EQ(machine_.cuda->launches.size(), 1u);
  EXPECT_EQ(machine_.nvrtc.compiles().size(), 1u);
}

}  // namespace
}  // namespace diecast
