// Finding the driver and its functions; what is said when it cannot be used.
#include <diecast/launch/cuda_device.h>
#include <diecast/launch/driver.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <utility>

#include "fake/cuda_script.h"

namespace diecast {
namespace {

using testing::FakeCuda;

constexpr const char* kInstall =
    "\n  fix: install an NVIDIA driver of CUDA 12.0 or newer (525.60 or later), or use the host: "
    "--target host of the command, open_host_device() in C++, device=\"host\" in Python";

std::string refusal(const std::string& path) {
  const auto driver = Driver::open(path);
  return driver ? "opened" : driver.error().message();
}

class DriverTest : public ::testing::Test {
 protected:
  FakeCuda cuda_;
  const std::string path_ = std::filesystem::canonical(FakeCuda::path());
};

TEST_F(DriverTest, OpensAndSaysWhatItIs) {
  const auto driver = cuda_.driver();
  EXPECT_EQ(driver->version(), 13000);
  EXPECT_EQ(driver->version_text(), "13.0");
  EXPECT_EQ(driver->path(), path_);
  EXPECT_TRUE(driver->has_devices());
  EXPECT_EQ(cuda_->count("cuInit"), 1);
}

TEST_F(DriverTest, FindsEveryFunctionOfTheTable) {
  const auto driver = cuda_.driver();
#define EXPECT_FOUND(name, version, needed, parameters) EXPECT_NE(driver->name, nullptr) << #name;
  DIECAST_CUDA_FUNCTIONS(EXPECT_FOUND)
#undef EXPECT_FOUND
}

TEST_F(DriverTest, MissingLibraryIsNamed) {
  const auto driver = Driver::open("/nowhere/libcuda.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, ErrorCode::driver_unavailable);
  EXPECT_EQ(driver.error().message(),
            "diecast: driver_unavailable: no CUDA driver: cannot open the library "
            "\"/nowhere/libcuda.so.1\": cannot open shared object file: No such file or "
            "directory" +
                std::string(kInstall));
}

TEST_F(DriverTest, LibraryThatIsNoDriverIsRefused) {
  const std::string other = DIECAST_FAKE_DIR "/libfake_nvrtc.so";
  EXPECT_EQ(refusal(other),
            "diecast: driver_unavailable: " + std::filesystem::canonical(other).string() +
                " has no cuGetProcAddress: it is no CUDA driver of 12.0 or newer" + kInstall);
}

TEST_F(DriverTest, StubIsReportedAsOne) {
  cuda_->stub = true;
  EXPECT_EQ(refusal(FakeCuda::path()),
            "diecast: driver_unavailable: " + path_ +
                " is the toolkit's stub, not a driver (CUDA_ERROR_STUB_LIBRARY, 34)\n"
                "  fix: take the toolkit's stubs folder out of LD_LIBRARY_PATH and install the "
                "driver");
}

TEST_F(DriverTest, StubThatOnlyInitReveals) {
  cuda_->fail["cuInit"][1] = 34;
  EXPECT_NE(refusal(FakeCuda::path()).find("is the toolkit's stub, not a driver"),
            std::string::npos);
}

TEST_F(DriverTest, ToolkitsOwnStubIsReportedAsOne) {
  const std::string stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (!std::filesystem::exists(stub)) GTEST_SKIP() << "no CUDA toolkit: " << stub;
  EXPECT_NE(refusal(stub).find("is the toolkit's stub, not a driver"), std::string::npos)
      << refusal(stub);
}

TEST_F(DriverTest, OlderDriverIsRefusedWithBothVersions) {
  cuda_->driver_version = 11080;
  EXPECT_EQ(refusal(FakeCuda::path()), "diecast: driver_unavailable: the driver " + path_ +
                                           " is of CUDA 11.8; diecast needs 12.0 or newer" +
                                           kInstall);
  EXPECT_EQ(cuda_->count("cuInit"), 0);
}

TEST_F(DriverTest, OldestDriverIsTaken) {
  cuda_->driver_version = 12000;
  const auto driver = cuda_.driver();
  EXPECT_EQ(driver->version_text(), "12.0");
  EXPECT_EQ(driver->cuFuncIsLoaded, nullptr);  // of 12.4
  EXPECT_EQ(driver->cuKernelGetParamInfo, nullptr);
}

TEST_F(DriverTest, OlderFinderIsTakenToo) {
  const auto driver = Driver::open(DIECAST_FAKE_DIR "/libfake_oldcuda.so");
  ASSERT_TRUE(driver) << driver.error().message();
  EXPECT_NE((*driver)->cuLibraryLoadData, nullptr);
  EXPECT_TRUE((*driver)->has_devices());
}

TEST_F(DriverTest, MissingFunctionsAreNamed) {
  cuda_->missing = {"cuLibraryLoadData", "cuLaunchKernel"};
  EXPECT_EQ(refusal(FakeCuda::path()), "diecast: driver_unavailable: " + path_ +
                                           " (CUDA 13.0) lacks cuLibraryLoadData, cuLaunchKernel" +
                                           kInstall);
}

TEST_F(DriverTest, EachFunctionIsNeededOrNot) {
#define EXPECT_MISSED(name, version, needed, parameters) \
  cuda_->missing = {#name};                              \
  EXPECT_EQ(Driver::open(FakeCuda::path()).ok(), !(needed)) << #name;
  DIECAST_CUDA_FUNCTIONS(EXPECT_MISSED)
#undef EXPECT_MISSED
}

struct InitCase {
  int code;
  const char* text;
};

void PrintTo(const InitCase& one, std::ostream* to) { *to << one.code; }

class DriverInit : public DriverTest, public ::testing::WithParamInterface<InitCase> {};

TEST_P(DriverInit, FailureHasItsNumberAndItsRemedy) {
  cuda_->fail["cuInit"][1] = GetParam().code;
  const std::string message = refusal(FakeCuda::path());
  EXPECT_EQ(message, "diecast: driver_unavailable: cuInit of " + path_ + " (CUDA 13.0) returned " +
                         GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, DriverInit,
    ::testing::Values(
        InitCase{3,
                 "CUDA_ERROR_NOT_INITIALIZED (3)\n  fix: a child that was forked after CUDA was "
                 "in use has to be started by exec or posix_spawn instead; elsewhere check that "
                 "nvidia-smi works, in a container too (--gpus all)"},
        InitCase{101,
                 "CUDA_ERROR_INVALID_DEVICE (101)\n  fix: check CUDA_VISIBLE_DEVICES against "
                 "nvidia-smi -L"},
        InitCase{802,
                 "CUDA_ERROR_SYSTEM_NOT_READY (802)\n  fix: start the fabric manager "
                 "(systemctl start nvidia-fabricmanager) and try again"},
        InitCase{803,
                 "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)\n  fix: the kernel module and "
                 "libcuda are of different versions: reboot, or restart the container"},
        InitCase{804,
                 "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804)\n  fix: take the "
                 "cuda-compat folder out of LD_LIBRARY_PATH: this GPU does not take it"},
        InitCase{999,
                 "CUDA_ERROR_UNKNOWN (999)\n  fix: check that nvidia-smi works and that "
                 "/dev/nvidia-uvm exists (modprobe nvidia-uvm)"},
        InitCase{12345,
                 "CUresult 12345\n  fix: CUresult 12345 stands in the CUDA driver API's "
                 "manual; `diecast doctor` checks driver and GPUs"}),
    [](const auto& info) { return "Code" + std::to_string(info.param.code); });

TEST_F(DriverTest, MachineWithoutGpuIsNoError) {
  cuda_->gpus.clear();
  const auto driver = cuda_.driver();
  EXPECT_FALSE(driver->has_devices());
  EXPECT_EQ(cuda_device_count(*driver).value(), 0);
}

TEST_F(DriverTest, OutOfMemoryHasItsOwnCode) {
  const Error error = cuda_.driver()->failure(2, "cuMemAlloc", "allocating 1 GiB");
  EXPECT_EQ(error.code, ErrorCode::out_of_memory);
  EXPECT_EQ(error.message(),
            "diecast: out_of_memory: allocating 1 GiB: cuMemAlloc returned "
            "CUDA_ERROR_OUT_OF_MEMORY (2)\n"
            "  fix: free device memory or pass less at once; nvidia-smi shows who holds it");
}

TEST_F(DriverTest, EveryFailureEndsInAFix) {
  const auto driver = cuda_.driver();
  for (int code = 1; code < 1000; ++code)
    EXPECT_FALSE(driver->failure(code, "cuInit", "testing").fix.empty()) << code;
}

TEST_F(DriverTest, LostContextsAllSaySo) {
  const auto driver = cuda_.driver();
  for (const int code : {214, 226, 700, 702, 716, 718, 719, 911})
    EXPECT_EQ(driver->failure(code, "f", "x").fix,
              "the context is lost, and every later call on it fails alike; this or an earlier "
              "kernel of the process may be the cause (compute-sanitizer finds it): restart the "
              "process")
        << code;
}

// Of processes that share a GPU, as a server's workers may.
TEST_F(DriverTest, WhatMpsRefusesSaysWhereToLook) {
  const auto driver = cuda_.driver();
  for (const int code : {805, 806, 807, 808, 809, 810})
    EXPECT_NE(driver->failure(code, "f", "x").fix.find("the MPS server"), std::string::npos)
        << code;
}

// The child's answer comes back as its exit code: 0 is right.
int in_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::shared_ptr<Device> inherited_device;
std::unique_ptr<RepeatedCalls> inherited_calls;

TEST_F(DriverTest, ForkedChildNeverReachesTheDriver) {
  inherited_device = cuda_.device();
  const Stream stream = inherited_device->create_stream().value();
  inherited_calls = inherited_device->capture(stream, [] { return Result<void>(); }).value();
  const int answer = in_child([] {
    FakeCuda cuda_of_child;  // its record starts empty here
    const auto opened = Driver::open(FakeCuda::path());
    const auto memory = inherited_device->allocate(16);
    const auto context = inherited_device->context_id();
    const auto shared = cuda_device_count();
    const auto repeated = inherited_calls->repeat();
    for (const Error* error :
         {&opened.error(), &memory.error(), &context.error(), &shared.error(), &repeated.error()})
      if (error->code != ErrorCode::driver_unavailable ||
          error->what != "this process was forked after CUDA was in use; CUDA does not work in it")
        return 1;
    return cuda_of_child->calls.empty() ? 0 : 2;
  });
  inherited_calls.reset();
  inherited_device.reset();
  EXPECT_EQ(answer, 0);
  EXPECT_TRUE(Driver::usable());  // here nothing changed
}

// In a process of its own, where no driver was opened before.
TEST(DriverDeathTest, AChildForkedWhileItIsOpenedOpensItItself) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fork_while_opening = [] {
    const FakeCuda cuda;
    ::setenv("DIECAST_LIBCUDA", FakeCuda::path().c_str(), 1);
    int answer = -1;
    bool forked = false;
    cuda->on_call = [&](const std::string&) {
      if (std::exchange(forked, true)) return;
      answer = in_child([] {
        ::alarm(20);
        return Driver::shared() ? 0 : 1;
      });
    };
    return Driver::shared() ? answer : 2;
  };
  EXPECT_EXIT(_exit(fork_while_opening()), ::testing::ExitedWithCode(0), "");
}

// Without a GPU no CUDA is in use, and a child finds what its parent has found.
TEST(DriverDeathTest, AChildForkedWhereThereIsNoGpuIsToldSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fork_without_gpu = [] {
    const FakeCuda cuda;
    cuda->gpus.clear();
    ::setenv("DIECAST_LIBCUDA", FakeCuda::path().c_str(), 1);
    if (cuda_device_count().value() != 0) return 1;
    return in_child([] {
      const auto device = open_cuda_device(0);
      return !device && device.error().code == ErrorCode::no_device ? 0 : 2;
    });
  };
  EXPECT_EXIT(_exit(fork_without_gpu()), ::testing::ExitedWithCode(0), "");
}

TEST_F(DriverTest, EnvironmentNamesTheLibrary) {
  ::setenv("DIECAST_LIBCUDA", FakeCuda::path().c_str(), 1);
  const auto driver = Driver::shared();
  ASSERT_TRUE(driver) << driver.error().message();
  EXPECT_EQ((*driver)->path(), path_);
  ::setenv("DIECAST_LIBCUDA", "/nowhere", 1);
  EXPECT_EQ(Driver::shared().value(), *driver);  // opened once
  ::unsetenv("DIECAST_LIBCUDA");
}

}  // namespace
}  // namespace diecast
