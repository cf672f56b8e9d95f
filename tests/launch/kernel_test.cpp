// Kernels: residency by context, launches, tunes, and what a launch never does.
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "sample_kernel.h"

namespace diecast {
namespace {

using testing::FakeCuda;
using Violations = std::vector<std::string>;

constexpr const char* kKernelText = R"(/* diecast
option type IN {bf16, f32} = f32
tune int THREADS {64, 128} = 64
tune int waves {1, 4, 16} = 4
size rows device
size cols
arg x in IN [rows, cols] stride
arg y out f32 [rows]
arg rows
arg cols
arg scale f32
launch grid(min(rows, sm_count * waves)) block(THREADS) shared(cols * 4)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class KernelTest : public ::testing::Test {
 protected:
  KernelTest() { cuda_->parameters["k"] = {8, 8, 8, 16, 8, 4}; }

  std::shared_ptr<Kernel> kernel(const Bindings& bindings = {}) {
    return testing::make_kernel(testing::specialize("k", kKernelText, bindings), device_);
  }
  static std::vector<KernelArgument> arguments(std::int64_t rows = 7, std::int64_t cols = 48) {
    return {KernelArgument::tensor(DType::f32, testing::address(0x1000)),
            KernelArgument::tensor(DType::f32, testing::address(0x2000)),
            KernelArgument::size(rows), KernelArgument::size(cols), KernelArgument::scalar(2.5f)};
  }

  FakeCuda cuda_;
  std::shared_ptr<Device> device_ = cuda_.device();
};

TEST_F(KernelTest, LaunchesWithItsArgumentsAndItsRule) {
  const auto k = kernel();
  ASSERT_TRUE(k->preload());
  ASSERT_TRUE(k->launch(arguments(), {}));
  ASSERT_EQ(cuda_->launches.size(), 1u);
  const auto& launch = cuda_->launches[0];
  EXPECT_EQ(launch.symbol, "k");
  EXPECT_EQ(launch.grid, (std::array<unsigned, 3>{7, 1, 1}));
  EXPECT_EQ(launch.block, (std::array<unsigned, 3>{64, 1, 1}));
  EXPECT_EQ(launch.shared_bytes, 192u);
  EXPECT_FALSE(launch.extended);
  EXPECT_EQ(launch.argument<void*>(0), testing::address(0x1000));
  EXPECT_EQ(launch.argument<std::int64_t>(1), 48);
  EXPECT_EQ(launch.argument<void*>(2), testing::address(0x2000));
  EXPECT_EQ((launch.argument<std::array<std::int64_t, 2>>(3)), (std::array<std::int64_t, 2>{0, 7}));
  EXPECT_EQ(launch.argument<std::int64_t>(4), 48);
  EXPECT_EQ(launch.argument<float>(5), 2.5f);
}

TEST_F(KernelTest, SizeInDeviceMemoryIsNeverReadByTheHost) {
  const auto k = kernel();
  ASSERT_TRUE(k->preload());
  auto given = arguments();
  given[2] = KernelArgument::device_size(static_cast<std::int64_t*>(testing::address(0x8)), 90);
  ASSERT_TRUE(k->launch(given, {}));
  const auto& launch = cuda_->launches.at(0);
  EXPECT_EQ(launch.grid[0], 90u);
  EXPECT_EQ((launch.argument<std::array<std::int64_t, 2>>(3)),
            (std::array<std::int64_t, 2>{8, 90}));
  EXPECT_EQ(cuda_->count("cuMemcpyDtoHAsync"), 0);
}

TEST_F(KernelTest, ArtifactOfSomethingElseIsRefused) {
  const auto ours = testing::specialize("k", kKernelText);
  const auto refuse = [&](const Specialization& other) {
    const auto made = Kernel::make(ours, testing::artifact_of(other), device_);
    return made ? "" : made.error().message();
  };
  EXPECT_EQ(refuse(testing::specialize("k", kKernelText, Bindings().set("IN", "bf16"))),
            "diecast: invalid_argument: the artifact of k IN=bf16 THREADS=64 @ sm_90a is not one "
            "of k IN=f32 THREADS=64 @ sm_90a\n"
            "  fix: resolve this specialization and use the artifact that comes back");
  EXPECT_NE(refuse(testing::specialize("k", kKernelText, {}, "sm_100a")), "");
  EXPECT_NE(refuse(testing::specialize("other", kKernelText)), "");
}

TEST_F(KernelTest, LaunchNeverLoads) {
  const auto k = kernel();
  EXPECT_FALSE(k->resident().value());
  const auto launched = k->launch(arguments(), {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message(),
            "diecast: not_resident: k IN=f32 THREADS=64 @ sm_90a is not resident on device 0 (Fake "
            "GPU) in the current context; a launch loads nothing\n"
            "  fix: call preload() in this context before the first launch (and before freeze())");
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 0);
  ASSERT_TRUE(k->preload());
  EXPECT_TRUE(k->launch(arguments(), {}));
}

TEST_F(KernelTest, CaptureNeedsItResidentBefore) {
  const auto k = kernel();
  const Stream stream = device_->create_stream().value();
  cuda_.begin_capture(stream);
  const auto launched = k->launch(arguments(), stream);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message(),
            "diecast: not_resident: k IN=f32 THREADS=64 @ sm_90a is not resident on device 0 (Fake "
            "GPU), and the stream is being captured: loading it now could spoil the capture\n"
            "  fix: call preload() in this context before the capture begins");
  EXPECT_TRUE(cuda_.end_capture(stream));  // nothing of ours spoiled it
  EXPECT_EQ(cuda_->violations, Violations{});
}

TEST_F(KernelTest, CapturedLaunchCallsNothingBesidesTheLaunch) {
  const auto k = kernel();
  ASSERT_TRUE(k->preload());
  const Stream stream = device_->create_stream().value();
  cuda_.begin_capture(stream);
  ASSERT_TRUE(k->launch(arguments(), stream));
  EXPECT_TRUE(cuda_.end_capture(stream));
  EXPECT_TRUE(cuda_->launches.at(0).captured);
  for (const auto& call : cuda_->calls) {
    const bool harmless = call.function.rfind("cuCtx", 0) == 0 || call.function == "cuLaunchKernel";
    EXPECT_TRUE(harmless || !call.capturing) << call.function;
  }
  EXPECT_EQ(cuda_->violations, Violations{});
}

TEST_F(KernelTest, EmptyGridLaunchesNothing) {
  const auto k = kernel();
  EXPECT_TRUE(k->launch(arguments(0), {}));  // not even resident
  EXPECT_TRUE(cuda_->launches.empty());
}

TEST_F(KernelTest, WrongArgumentNeverReachesTheDevice) {
  const auto k = kernel();
  ASSERT_TRUE(k->preload());
  cuda_->calls.clear();
  auto given = arguments();
  given[1] = KernelArgument::tensor(DType::f32, nullptr);
  EXPECT_EQ(k->launch(given, {}).error().code, ErrorCode::missing_buffer);
  EXPECT_EQ(k->launch(arguments(7, 1 << 20), {}).error().code, ErrorCode::not_supported);
  EXPECT_TRUE(cuda_->calls.empty());
}

TEST_F(KernelTest, IsLoadedOnceAContext) {
  const auto k = kernel();
  ASSERT_TRUE(k->preload());
  ASSERT_TRUE(k->preload());
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 1);
  auto* const context = cuda_.create_context(0);
  EXPECT_FALSE(k->resident().value());
  EXPECT_FALSE(k->launch(arguments(), {}));
  ASSERT_TRUE(k->preload());
  ASSERT_TRUE(k->launch(arguments(), {}));
  EXPECT_EQ(cuda_->launches.at(0).context, device_->context_id().value());
  cuda_.make_current(nullptr);
  ASSERT_TRUE(k->launch(arguments(), {}));
  EXPECT_EQ(cuda_->launches.at(1).context, device_->context_id().value());
  EXPECT_NE(cuda_->launches[0].context, cuda_->launches[1].context);
  cuda_.make_current(context);
  ASSERT_TRUE(k->launch(arguments(), {}));
  EXPECT_EQ(cuda_->launches.at(2).context, cuda_->launches[0].context);
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 2);
}

TEST_F(KernelTest, CodeOfADestroyedContextIsNeverUsed) {
  const auto k = kernel();
  for (int i = 0; i < 40; ++i) {  // more contexts than anyone keeps
    auto* const context = cuda_.create_context(0);
    EXPECT_FALSE(k->resident().value());
    ASSERT_TRUE(k->preload());
    ASSERT_TRUE(k->launch(arguments(), {}));
    cuda_.destroy_context(context);
  }
  EXPECT_EQ(cuda_->violations, Violations{});
}

TEST_F(KernelTest, PrimaryContextThatWasResetNeedsItAgain) {
  const auto k = kernel();
  ASSERT_TRUE(k->preload());
  cuda_.reset_primary(0);
  EXPECT_EQ(k->launch(arguments(), {}).error().code, ErrorCode::driver_error);
  ASSERT_TRUE(cuda_.device()->context_id());  // somebody uses the device again
  EXPECT_EQ(k->launch(arguments(), {}).error().code, ErrorCode::not_resident);
  ASSERT_TRUE(k->preload());
  EXPECT_TRUE(k->launch(arguments(), {}));
  EXPECT_EQ(cuda_->violations, Violations{});
}

TEST_F(KernelTest, DevicesAreApart) {
  cuda_->gpus.resize(2);
  cuda_->gpus[1].sm_count = 1;
  const auto first = kernel();
  device_ = cuda_.device(1);
  const auto second = kernel();
  ASSERT_TRUE(first->preload());
  ASSERT_TRUE(second->preload());
  ASSERT_TRUE(first->launch(arguments(), {}));
  ASSERT_TRUE(second->launch(arguments(), {}));
  EXPECT_EQ(cuda_->launches.at(0).grid[0], 7u);
  EXPECT_EQ(cuda_->launches.at(1).grid[0], 4u);
  EXPECT_NE(cuda_->launches[0].context, cuda_->launches[1].context);
}

TEST_F(KernelTest, TunesReadAtLaunchChangeTheGridOnly) {
  const auto k = kernel();
  const auto grid = [&](const Bindings& tunes) {
    return k->shape(arguments(100000), tunes).value().grid[0];
  };
  EXPECT_EQ(grid({}), 132u * 4);
  EXPECT_EQ(grid(Bindings().set("waves", 16)), 132u * 16);
  EXPECT_EQ(grid(Bindings().set("waves", "1").set("THREADS", 64)), 132u);
  const auto bound = kernel(Bindings().set("waves", 1));
  EXPECT_EQ(bound->shape(arguments(100000)).value().grid[0], 132u);
  ASSERT_TRUE(k->preload());
  const LaunchTunes tunes = k->tunes(Bindings().set("waves", 16)).value();
  ASSERT_TRUE(k->launch(arguments(100000), {}, tunes));
  EXPECT_EQ(cuda_->launches.at(0).grid[0], 132u * 16);
  ASSERT_TRUE(k->launch(arguments(100000), {}, Bindings().set("waves", 1)));
  EXPECT_EQ(cuda_->launches.at(1).grid[0], 132u);
}

TEST_F(KernelTest, TunesAreChecked) {
  const auto k = kernel();
  const auto refuse = [&](const Bindings& tunes) { return k->tunes(tunes).error(); };
  EXPECT_EQ(refuse(Bindings().set("wave", 1)).code, ErrorCode::unknown_parameter);
  EXPECT_EQ(refuse(Bindings().set("waves", 2)).code, ErrorCode::value_not_allowed);
  EXPECT_EQ(refuse(Bindings().set("THREADS", 128)).message(),
            "diecast: invalid_argument: k IN=f32 THREADS=64 @ sm_90a: THREADS is compiled in as "
            "64; a launch cannot make it 128\n"
            "  fix: specialize with THREADS=128");
}

TEST_F(KernelTest, DriverErrorsComeThrough) {
  const auto k = kernel();
  cuda_->fail["cuLibraryLoadData"][1] = 2;
  EXPECT_EQ(k->preload().error().code, ErrorCode::out_of_memory);
  EXPECT_FALSE(k->resident().value());
  ASSERT_TRUE(k->preload());
  cuda_->fail["cuLaunchKernel"][1] = 719;
  EXPECT_EQ(k->launch(arguments(), {}).error().code, ErrorCode::driver_error);
  EXPECT_TRUE(k->launch(arguments(), {}));
}

TEST_F(KernelTest, DestructionCallsNothing) {
  auto k = kernel();
  ASSERT_TRUE(k->preload());
  cuda_->calls.clear();
  k.reset();
  device_.reset();
  EXPECT_TRUE(cuda_->calls.empty());  // graphs may still hold the code
}

TEST_F(KernelTest, ThreadsPreloadAndLaunchAtOnce) {
  const auto k = kernel();
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      failures += !k->preload();
      for (int i = 0; i < 100; ++i) failures += !k->launch(arguments(), {});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(cuda_->count("cuLibraryLoadData"), 1);
  EXPECT_EQ(cuda_->launches.size(), 800u);
}

TEST(KernelArgument, HoldsWhatItWasMadeOf) {
  EXPECT_EQ(KernelArgument::scalar(-1.5f).dtype, DType::f32);
  EXPECT_EQ(static_cast<std::uint32_t>(KernelArgument::scalar(-1.5f).number), 0xbfc00000u);
  EXPECT_EQ(KernelArgument::scalar(std::int32_t{-1}).number, -1);
  EXPECT_EQ(KernelArgument::scalar(std::uint32_t{4000000000u}).dtype, DType::u32);
  EXPECT_EQ(KernelArgument::scalar(std::uint32_t{4000000000u}).number, 4000000000);
  EXPECT_EQ(KernelArgument::scalar(std::int64_t{1} << 40).dtype, DType::i64);
}

}  // namespace
}  // namespace diecast
