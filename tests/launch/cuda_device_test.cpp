// A CUDA device on the fake driver: properties, memory, streams, events, launches.
#include <diecast/launch/cuda_device.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "fake/cuda_script.h"

namespace diecast {
namespace {

using testing::FakeCuda;
using Violations = std::vector<std::string>;

class CudaDeviceTest : public ::testing::Test {
 protected:
  std::shared_ptr<Device> device(int ordinal = 0) { return cuda_.device(ordinal); }
  FakeCuda cuda_;
};

TEST_F(CudaDeviceTest, PropertiesAreTheDrivers) {
  cuda_->gpus.resize(2);
  cuda_->gpus[1] = {"NVIDIA Fake B200", 100, 148, 232448, 1024, std::size_t{192} << 30};
  cuda_->driver_version = 12090;
  const DeviceProperties found = device(1)->properties();
  EXPECT_EQ(found.name, "NVIDIA Fake B200");
  EXPECT_EQ(found.ordinal, 1);
  EXPECT_EQ(found.cc, 100);
  EXPECT_EQ(found.sm_count, 148);
  EXPECT_EQ(found.shared_optin, 232448);
  EXPECT_EQ(found.max_threads, 1024);
  EXPECT_EQ(found.memory_bytes, std::int64_t{192} << 30);
  EXPECT_EQ(found.driver_version, 12090);
}

TEST_F(CudaDeviceTest, TargetsAreThoseOfItsComputeCapability) {
  cuda_->gpus[0].cc = 103;
  EXPECT_EQ(device()->targets(), Target::for_device(103));
}

TEST_F(CudaDeviceTest, CountsTheDevices) {
  cuda_->gpus.resize(3);
  EXPECT_EQ(cuda_device_count(*cuda_.driver()).value(), 3);
  cuda_->fail["cuDeviceGetCount"][2] = 999;
  const auto failed = cuda_device_count(*cuda_.driver());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what,
            "counting the GPUs: cuDeviceGetCount returned CUDA_ERROR_UNKNOWN "
            "(999)");
}

TEST_F(CudaDeviceTest, MissingDeviceIsToldApartFromNone) {
  const auto second = open_cuda_device(cuda_.driver(), 1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(),
            "diecast: no_device: there is no CUDA device 1; the driver shows 1\n"
            "  fix: choose a device from 0 to 0");
  cuda_->gpus.clear();
  const auto none = open_cuda_device(cuda_.driver(), 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "diecast: no_device: the driver " +
                                        std::filesystem::canonical(FakeCuda::path()).string() +
                                        " (CUDA 13.0) shows no GPU\n"
                                        "  fix: check nvidia-smi -L and CUDA_VISIBLE_DEVICES, " +
                                        kUseHost);
}

TEST_F(CudaDeviceTest, OpenedTwiceIsOneAsLongAsItIsOpen) {
  cuda_->gpus.push_back(cuda_->gpus[0]);
  const auto driver = cuda_.driver();
  auto first = *open_cuda_device(driver, 0);
  EXPECT_EQ(*open_cuda_device(driver, 0), first);
  EXPECT_NE(*open_cuda_device(driver, 1), first);
  const std::weak_ptr<Device> watched = first;
  first.reset();
  EXPECT_TRUE(watched.expired());
  EXPECT_TRUE(open_cuda_device(driver, 0));
}

TEST_F(CudaDeviceTest, PropertyThatCannotBeReadIsAnError) {
  cuda_->fail["cuDeviceTotalMem"][1] = 999;
  const auto opened = open_cuda_device(cuda_.driver(), 0);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().what,
            "asking for the properties of device 0: cuDeviceTotalMem returned CUDA_ERROR_UNKNOWN "
            "(999)");
}

TEST_F(CudaDeviceTest, MemoryMakesARoundTrip) {
  const auto opened = device();
  const Stream stream = opened->create_stream().value();
  std::vector<int> from(1000), back(1000);
  for (int i = 0; i < 1000; ++i) from[i] = i * i;
  void* const a = opened->allocate(4000).value();
  void* const b = opened->allocate(4000).value();
  ASSERT_TRUE(opened->copy_to_device(a, from.data(), 4000, stream));
  ASSERT_TRUE(opened->copy_on_device(b, a, 4000, stream));
  ASSERT_TRUE(opened->fill(static_cast<char*>(b) + 4, 0xff, 4, stream));
  ASSERT_TRUE(opened->copy_to_host(back.data(), b, 4000, stream));
  ASSERT_TRUE(opened->synchronize(stream));
  from[1] = -1;
  EXPECT_EQ(back, from);
  EXPECT_EQ(cuda_->allocated_bytes, 8000u);
  ASSERT_TRUE(opened->free(a));
  ASSERT_TRUE(opened->free(b));
  EXPECT_EQ(cuda_->allocated_bytes, 0u);
}

TEST_F(CudaDeviceTest, NothingIsAskedForNoBytes) {
  const auto opened = device();
  EXPECT_EQ(opened->allocate(0).value(), nullptr);
  EXPECT_TRUE(opened->free(nullptr));
  EXPECT_TRUE(opened->copy_to_device(nullptr, nullptr, 0, {}));
  EXPECT_TRUE(opened->copy_to_host(nullptr, nullptr, 0, {}));
  EXPECT_TRUE(opened->copy_on_device(nullptr, nullptr, 0, {}));
  EXPECT_TRUE(opened->fill(nullptr, 1, 0, {}));
  for (const char* function : {"cuMemAlloc", "cuMemFree", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
                               "cuMemcpyDtoDAsync", "cuMemsetD8Async"})
    EXPECT_EQ(cuda_->count(function), 0) << function;
}

TEST_F(CudaDeviceTest, MemoryThatRunsOutIsSaidWithItsSize) {
  const auto memory = device()->allocate((std::size_t{1} << 30) + 1);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().message(),
            "diecast: out_of_memory: allocating 1 GiB on device 0: cuMemAlloc returned "
            "CUDA_ERROR_OUT_OF_MEMORY (2)\n"
            "  fix: free device memory or pass less at once; nvidia-smi shows who holds it");
}

TEST_F(CudaDeviceTest, CopyErrorsSayWhatWasCopied) {
  const auto opened = device();
  char byte = 0;
  const auto copied = opened->copy_to_host(&byte, testing::FakeCuda::path().c_str(), 1, {});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().what,
            "copying to the host (1 B): cuMemcpyDtoHAsync returned CUDA_ERROR_INVALID_VALUE (1)");
}

TEST_F(CudaDeviceTest, StreamsDoNotBlockTheDefaultStream) {
  const auto opened = device();
  const Stream stream = opened->create_stream().value();
  EXPECT_NE(stream.handle, nullptr);
  EXPECT_TRUE(opened->destroy_stream(stream));
  EXPECT_TRUE(opened->destroy_stream({}));
  const auto late = opened->synchronize(stream);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message(),
            "diecast: driver_error: waiting for a stream: cuStreamSynchronize returned "
            "CUDA_ERROR_INVALID_HANDLE (400)\n"
            "  fix: a stream, event or kernel of another or a destroyed context was given: make it "
            "anew in the context in use");
}

TEST_F(CudaDeviceTest, EventsMeasureTime) {
  const auto opened = device();
  const Stream stream = opened->create_stream().value();
  const Event from = opened->create_event().value();
  const Event to = opened->create_event().value();
  ASSERT_TRUE(opened->record(from, stream));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  ASSERT_TRUE(opened->record(to, stream));
  const double ms = opened->elapsed_ms(from, to).value();
  EXPECT_GE(ms, 3.0);
  EXPECT_LT(ms, 3000.0);
  EXPECT_EQ(cuda_->count("cuEventSynchronize"), 2);
  EXPECT_TRUE(opened->destroy_event(from));
  EXPECT_TRUE(opened->destroy_event(to));
  EXPECT_TRUE(opened->destroy_event({}));
}

TEST_F(CudaDeviceTest, CaptureIsSeen) {
  const auto opened = device();
  const Stream stream = opened->create_stream().value();
  EXPECT_FALSE(opened->is_capturing(stream).value());
  cuda_.begin_capture(stream);
  EXPECT_TRUE(opened->is_capturing(stream).value());
  EXPECT_TRUE(cuda_.end_capture(stream));
  EXPECT_FALSE(opened->is_capturing(stream).value());
}

TEST_F(CudaDeviceTest, CaptureSomewhereElseIsSeenFromTheDefaultStream) {
  const auto opened = device();
  cuda_->fail["cuStreamIsCapturing"][1] = 906;
  EXPECT_TRUE(opened->is_capturing({}).value());
  EXPECT_FALSE(opened->is_capturing({}).value());
}

TEST_F(CudaDeviceTest, SpoiledCaptureIsPassedOn) {
  const auto opened = device();
  const Stream stream = opened->create_stream().value();
  void* const memory = opened->allocate(16).value();
  cuda_.begin_capture(stream);
  EXPECT_FALSE(opened->allocate(16));  // the caller's own mistake
  const auto filled = opened->fill(memory, 0, 16, stream);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().message(),
            "diecast: driver_error: filling device memory (16 B): cuMemsetD8Async returned "
            "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)\n"
            "  fix: end this capture and begin a new one; an earlier call on the stream made it "
            "invalid");
  EXPECT_TRUE(opened->is_capturing(stream).value());
  EXPECT_FALSE(cuda_.end_capture(stream));
  EXPECT_EQ(cuda_->violations, Violations{"cuMemAlloc while capturing"});
}

TEST_F(CudaDeviceTest, CapturedCallsAreOneGraph) {
  const auto opened = device();
  const Stream stream = opened->create_stream().value();
  void* const memory = opened->allocate(16).value();
  {
    const auto calls = opened->capture(stream, [&] { return opened->fill(memory, 1, 16, stream); });
    ASSERT_TRUE(calls) << calls.error().message();
    EXPECT_FALSE(opened->is_capturing(stream).value());
    EXPECT_EQ(cuda_->graphs.size(), 1u);  // what is repeated; what it was made of is gone
    EXPECT_TRUE((*calls)->repeat());
    EXPECT_TRUE((*calls)->repeat());
    EXPECT_EQ(cuda_->count("cuMemsetD8Async"), 1);
    EXPECT_EQ(cuda_->count("cuGraphLaunch"), 2);
    cuda_->fail["cuGraphLaunch"][3] = 700;
    EXPECT_TRUE((*calls)->repeat().error().what.starts_with("launching a graph: cuGraphLaunch"));
  }
  EXPECT_TRUE(cuda_->graphs.empty());
  EXPECT_EQ(cuda_->violations, Violations());
}

// Whatever goes wrong the capture is over, and no graph of it is left.
TEST_F(CudaDeviceTest, ACaptureThatFailsEnds) {
  const auto opened = device();
  const Stream stream = opened->create_stream().value();
  const auto failure = [&](const std::function<Result<void>()>& calls) {
    const auto captured = opened->capture(stream, calls);
    EXPECT_FALSE(captured);
    EXPECT_FALSE(opened->is_capturing(stream).value());
    EXPECT_TRUE(cuda_->graphs.empty());
    return captured ? std::string() : captured.error().what;
  };
  EXPECT_EQ(failure([&]() -> Result<void> {
              return Error{ErrorCode::invalid_argument, "no", ""};
            }),
            "no");
  EXPECT_TRUE(failure([&]() -> Result<void> {  // spoils it and hides that
                (void)opened->allocate(16).ok();
                return {};
              })
                  .starts_with("ending a capture: cuStreamEndCapture"));
  cuda_->fail["cuGraphInstantiateWithFlags"][1] = 2;
  EXPECT_TRUE(failure([]() -> Result<void> { return {}; }).starts_with("making a graph ready"));
  EXPECT_THROW(
      (void)opened->capture(stream, [&] { return Result<void>(Error{}).value(), Result<void>(); }),
      std::runtime_error);
  EXPECT_FALSE(opened->is_capturing(stream).value());
  EXPECT_TRUE(cuda_->graphs.empty());
  EXPECT_TRUE(opened->capture({}, []() -> Result<void> { return {}; })
                  .error()
                  .what.starts_with("beginning a capture"));
}

TEST_F(CudaDeviceTest, DestructionCallsNothing) {
  auto opened = device();
  ASSERT_TRUE(opened->allocate(16));
  cuda_->calls.clear();
  opened.reset();
  EXPECT_TRUE(cuda_->calls.empty());
}

}  // namespace
}  // namespace diecast
