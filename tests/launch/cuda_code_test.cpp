// Making machine code resident: the steps, what each failure says, what is checked before.
#include <diecast/launch/cuda/code.h>
#include <gtest/gtest.h>

#include <ostream>

#include "sample_kernel.h"

namespace diecast {
namespace {

using testing::FakeCuda;
using CallNames = std::vector<std::string>;

constexpr const char* kCodeText = R"(/* diecast
option int N {1, 2} = 1
size rows
arg x inout f32 [rows]
arg rows
launch grid(rows) block(32)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class CudaCodeTest : public ::testing::Test {
 protected:
  // The functions called since the last clear, without the questions about contexts.
  CallNames calls() const {
    CallNames names;
    for (const auto& call : cuda_->calls)
      if (call.function.rfind("cuCtx", 0) != 0) names.push_back(call.function);
    return names;
  }
  std::shared_ptr<ResidentCode> load(const LaunchNeeds& needs = {}) {
    EXPECT_TRUE(device_->context_id());  // the primary context is there
    cuda_->calls.clear();
    return device_->load(*artifact_, needs, nullptr).value();
  }
  Error load_error() { return device_->load(*artifact_, {}, nullptr).error(); }

  FakeCuda cuda_;
  std::shared_ptr<Device> device_ = cuda_.device();
  std::shared_ptr<Artifact> artifact_ = testing::artifact_of(testing::specialize("k", kCodeText));
  float value_ = 0;
  float* pointer_ = &value_;
  std::int64_t rows_ = 3;
  void* parameters_[2] = {&pointer_, &rows_};
  static constexpr LaunchShape kShape{{8, 2, 3}, {32, 4, 2}, 1024};
  void expect_last(const LaunchShape& shape, Stream stream) const {
    const auto& launch = cuda_->launches.back();
    EXPECT_EQ(launch.grid, shape.grid);
    EXPECT_EQ(launch.block, shape.block);
    EXPECT_EQ(launch.shared_bytes, shape.shared_bytes);
    EXPECT_EQ(launch.stream, stream.handle);
  }
};

TEST_F(CudaCodeTest, LoadMakesTheFunctionInThisContext) {
  load();
  EXPECT_EQ(calls(), (CallNames{"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction",
                                "cuFuncIsLoaded"}));
}

// Unloading waits for the GPU and ends captures: the library does not even look the function up.
TEST_F(CudaCodeTest, NothingIsEverUnloaded) {
#define DIECAST_NAME(name, version, needed, parameters) #name,
  for (const std::string_view name : {DIECAST_CUDA_FUNCTIONS(DIECAST_NAME) ""})
    EXPECT_EQ(name.find("Unload"), std::string_view::npos) << name;
#undef DIECAST_NAME
}

TEST_F(CudaCodeTest, LazyDriverIsMadeToLoad) {
  cuda_->lazy = true;
  const auto code = load();
  EXPECT_EQ(cuda_->count("cuFuncLoad"), 1);
  ASSERT_TRUE(device_->launch(*code, {}, parameters_, {}));
  EXPECT_EQ(cuda_->violations, CallNames{});
}

TEST_F(CudaCodeTest, DriverBefore124LoadsWhenTheFunctionIsAskedFor) {
  cuda_->driver_version = 12030;
  device_ = cuda_.device();
  load();
  EXPECT_EQ(calls(), (CallNames{"cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction"}));
}

TEST_F(CudaCodeTest, MuchDynamicSharedMemoryIsAllowedBeforehand) {
  LaunchShape shape;
  shape.shared_bytes = 49153;
  auto code = load({.shared_bytes = 49152});
  EXPECT_FALSE(device_->launch(*code, shape, parameters_, {}));
  code = load({.shared_bytes = 49153});
  EXPECT_TRUE(device_->launch(*code, shape, parameters_, {}));
}

// The driver counts both: 48 KiB of dynamic memory and a barrier are too much without being asked.
TEST_F(CudaCodeTest, WhatTheCodeTakesByItselfCountsToo) {
  const auto asked = [&](std::uint32_t dynamic) {
    load({.shared_bytes = dynamic});
    return cuda_->count("cuFuncSetAttribute");
  };
  EXPECT_EQ(asked(49152), 0);
  EXPECT_EQ(asked(49153), 1);
  artifact_->static_shared_bytes = 8;
  EXPECT_EQ(asked(49144), 0);
  EXPECT_EQ(asked(49145), 1);
}

TEST_F(CudaCodeTest, CodeOfAnotherTargetNeverReachesTheDriver) {
  artifact_ = testing::artifact_of(testing::specialize("k", kCodeText, {}, "sm_100a"));
  cuda_->calls.clear();
  const Error error = load_error();
  EXPECT_EQ(error.message(),
            "diecast: target_not_supported: k N=1 @ sm_100a: this code does not run on device 0 "
            "(Fake GPU, 9.0)\n"
            "  fix: build it for sm_90a");
  EXPECT_TRUE(cuda_->calls.empty());
}

TEST_F(CudaCodeTest, DamagedImageSaysWhoseItIs) {
  artifact_->payload.assign(300, std::byte{7});
  EXPECT_EQ(load_error().message(),
            "diecast: file_corrupt: loading k N=1 @ sm_90a (300 B by nvrtc-13.0) on device 0 (Fake "
            "GPU, 9.0), driver 13.0: cuLibraryLoadData returned CUDA_ERROR_INVALID_IMAGE (200)\n"
            "  fix: the machine code is damaged or not for this GPU: delete its cache entry and "
            "build it again");
}

struct LoadCase {
  const char* function;
  int code;
  const char* fix;
};

void PrintTo(const LoadCase& one, std::ostream* to) { *to << one.function << ' ' << one.code; }

class CudaCodeLoad : public CudaCodeTest, public ::testing::WithParamInterface<LoadCase> {};

TEST_P(CudaCodeLoad, FailureNamesStepCodeAndRemedy) {
  const auto [function, code, fix] = GetParam();
  cuda_->lazy = true;
  cuda_->fail[function][1] = code;
  const auto failed = device_->load(*artifact_, {.shared_bytes = 65536}, nullptr);
  ASSERT_FALSE(failed);
  const bool refused = code == 209 || code == 218 || code == 222 || code == 500;
  EXPECT_EQ(failed.error().code, refused     ? ErrorCode::file_corrupt
                                 : code == 2 ? ErrorCode::out_of_memory
                                             : ErrorCode::driver_error);
  EXPECT_EQ(failed.error().what,
            "loading k N=1 @ sm_90a (" + std::to_string(artifact_->payload.size()) +
                " B by nvrtc-13.0) on device 0 (Fake GPU, 9.0), driver 13.0: " + function +
                " returned " + cuda_.driver()->code_name(code));
  EXPECT_EQ(failed.error().fix, fix);
}

constexpr const char* kNewer =
    "the driver is older than the code needs: update the driver, or build with an older NVRTC";
INSTANTIATE_TEST_SUITE_P(
    Steps, CudaCodeLoad,
    ::testing::Values(
        LoadCase{"cuLibraryLoadData", 209,
                 "the machine code is damaged or not for this GPU: delete its cache entry and "
                 "build it again"},
        LoadCase{"cuLibraryLoadData", 218, kNewer}, LoadCase{"cuLibraryLoadData", 222, kNewer},
        LoadCase{"cuLibraryLoadData", 2,
                 "free device memory or pass less at once; nvidia-smi shows who holds it"},
        LoadCase{"cuLibraryGetKernel", 500,
                 "the machine code lacks the kernel: delete its cache entry and build it again"},
        LoadCase{"cuKernelGetFunction", 2,
                 "free device memory or pass less at once; nvidia-smi shows who holds it"},
        LoadCase{"cuFuncIsLoaded", 700,
                 "the context is lost, and every later call on it fails alike; this or an earlier "
                 "kernel of the process may be the cause (compute-sanitizer finds it): restart the "
                 "process"},
        LoadCase{"cuFuncLoad", 2,
                 "free device memory or pass less at once; nvidia-smi shows who holds it"},
        LoadCase{"cuFuncSetAttribute", 1,
                 "CUresult 1 stands in the CUDA driver API's manual; `diecast doctor` checks "
                 "driver and GPUs"}),
    [](const auto& info) {
      return std::string(info.param.function) + std::to_string(info.param.code);
    });

TEST_F(CudaCodeTest, BigClustersAreAllowedBeforehandWhereTheDeviceTakesThem) {
  load({.cluster = 8});
  EXPECT_EQ(cuda_->count("cuFuncSetAttribute"), 0);
  load({.cluster = 9});
  EXPECT_EQ(cuda_->count("cuFuncSetAttribute"), 1);
  cuda_->fail["cuFuncSetAttribute"][2] = 1;  // the device does not: no reason to fail
  EXPECT_TRUE(device_->load(*artifact_, {.cluster = 16}, nullptr));
  EXPECT_EQ(cuda_->count("cuFuncSetAttribute"), 2);
}

TEST_F(CudaCodeTest, PlainLaunchIsOneCall) {
  const auto code = load();
  cuda_.create_context(0);
  const auto here = load();
  cuda_->calls.clear();
  const Stream stream = device_->create_stream().value();
  ASSERT_TRUE(device_->launch(*here, kShape, parameters_, stream));
  ASSERT_EQ(cuda_->launches.size(), 1u);
  expect_last(kShape, stream);
  EXPECT_EQ(cuda_->launches[0].symbol, "k");
  EXPECT_FALSE(cuda_->launches[0].extended);
  EXPECT_EQ(calls(), (CallNames{"cuStreamCreate", "cuLaunchKernel"}));
}

TEST_F(CudaCodeTest, AttributesGoThroughTheExtendedCall) {
  cuda_->parameters["k"] = {8};
  const auto code = load();
  const Stream stream = device_->create_stream().value();
  for (int which = 1; which < 8; ++which) {
    LaunchShape shape = kShape;
    shape.cluster = which & 1 ? 4 : 0;
    shape.cooperative = which & 2;
    shape.dependent = which & 4;
    ASSERT_TRUE(device_->launch(*code, shape, parameters_, stream));
    expect_last(shape, stream);
    const auto& launch = cuda_->launches.back();
    EXPECT_TRUE(launch.extended);
    EXPECT_EQ(launch.arguments,
              std::vector{std::string(static_cast<const char*>(parameters_[0]), 8)});
    EXPECT_EQ(launch.cluster, shape.cluster);
    EXPECT_EQ(launch.cooperative, shape.cooperative);
    EXPECT_EQ(launch.dependent, shape.dependent);
  }
}

TEST_F(CudaCodeTest, DriverWithoutTheExtendedCallSaysSo) {
  cuda_->missing = {"cuLaunchKernelEx"};
  device_ = cuda_.device();
  const auto code = load();
  EXPECT_TRUE(device_->launch(*code, {}, parameters_, {}));
  LaunchShape shape;
  shape.cooperative = true;
  const auto launched = device_->launch(*code, shape, parameters_, {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().message(),
            "diecast: driver_unavailable: launching k N=1 @ sm_90a needs cuLaunchKernelEx, which " +
                cuda_.driver()->path() +
                " (CUDA 13.0) lacks\n"
                "  fix: install an NVIDIA driver of CUDA 12.0 or newer (525.60 or later)");
}

TEST_F(CudaCodeTest, LaunchGoesToTheContextTheCodeIsIn) {
  const auto code = load();  // in the primary context
  const std::uint64_t primary = device_->context_id().value();
  auto* const other = cuda_.create_context(0);
  ASSERT_TRUE(device_->launch(*code, {}, parameters_, {}));
  EXPECT_EQ(cuda_->launches[0].context, primary);
  cuda::ContextHandle* current = nullptr;
  cuda_.driver()->cuCtxGetCurrent(&current);
  EXPECT_EQ(current, other);
}

TEST_F(CudaCodeTest, LaunchErrorsCarryTheWholeLaunch) {
  const auto code = load();
  LaunchShape shape;
  shape.grid = {5, 1, 1};
  shape.block = {64, 1, 1};
  cuda_->fail["cuLaunchKernel"][1] = 700;
  const auto lost = device_->launch(*code, shape, parameters_, {});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().message(),
            "diecast: driver_error: launching k N=1 @ sm_90a with grid (5, 1, 1), block (64, 1, "
            "1), 0 bytes of dynamic shared memory: cuLaunchKernel returned "
            "CUDA_ERROR_ILLEGAL_ADDRESS (700)\n"
            "  fix: the context is lost, and every later call on it fails alike; this or an "
            "earlier kernel of the process may be the cause (compute-sanitizer finds it): restart "
            "the process");
  cuda_->fail["cuLaunchKernelEx"][1] = 912;
  shape.cluster = 5;
  const auto cluster = device_->launch(*code, shape, parameters_, {});
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().fix,
            "a cluster of this size does not fit: use a tune value with a smaller cluster");
}

TEST_F(CudaCodeTest, StreamOfAnotherContextIsAnError) {
  const auto code = load();
  cuda_.create_context(0);
  const Stream other = device_->create_stream().value();
  cuda_.make_current(nullptr);
  const auto launched = device_->launch(*code, {}, parameters_, other);
  ASSERT_FALSE(launched);
  EXPECT_NE(launched.error().what.find("CUDA_ERROR_INVALID_HANDLE (400)"), std::string::npos);
}

}  // namespace
}  // namespace diecast
