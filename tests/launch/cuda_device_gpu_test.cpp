// The CUDA device on a real GPU: what the fake driver only claims.
#include <diecast/launch/cuda_device.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <numeric>
#include <optional>

#include "compiled_kernel.h"

namespace diecast {
namespace {

// Rows of x, which may be apart, times a factor and backwards, into dense rows.
constexpr const char* kScale = R"(/* diecast
size rows device
size cols
arg x      in  f32 [rows, cols] stride
arg y      out f32 [rows, cols]
arg rows
arg cols
arg factor f32
launch grid(min(rows, 64)) block(64) shared(cols * 4)
target sm_80+
*/
DIECAST_KERNEL {
  f32* const row = dynamic_shared<f32>();
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    for (i64 c = threadIdx.x; c < cols; c += blockDim.x) row[c] = x[r * x_stride + c];
    __syncthreads();
    for (i64 c = threadIdx.x; c < cols; c += blockDim.x)
      y[r * cols + c] = row[cols - 1 - c] * factor;
    __syncthreads();
  }
}
)";

// Writes the cluster's size.
constexpr const char* kCluster = R"(/* diecast
arg y out i32 [1]
launch grid(16) block(32) cluster(16)
target sm_90a
*/
DIECAST_KERNEL {
  u32 size = 0;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = i32(size);
}
)";

class CudaGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto count = cuda_device_count();
    if (!count) GTEST_SKIP() << count.error().message();
    if (*count == 0) GTEST_SKIP() << "the driver shows no GPU";
    if (!testing::nvrtc()) GTEST_SKIP() << testing::nvrtc().error().message();
    device_ = open_cuda_device(0).value();
    libcuda_ = Library::open("libcuda.so.1").value();
  }

  // A function of the driver that diecast has no use for; its result must be 0.
  template <class Function, class... Arguments>
  void driver(const char* name, Arguments... arguments) {
    auto* const function = libcuda_->function<Function>(name);
    ASSERT_NE(function, nullptr) << name;
    ASSERT_EQ(function(arguments...), 0) << name;
  }

  std::shared_ptr<Kernel> kernel(std::string_view name, std::string_view text) {
    const auto tmpl = Template::parse(name, text).value();
    const auto specialization = Specialization::make(tmpl, {}, device_->targets().front()).value();
    return Kernel::make(specialization, testing::compile(specialization).value(), device_).value();
  }

  template <class T>
  T* device_memory(const std::vector<T>& values) {
    void* const memory = device_->allocate(values.size() * sizeof(T)).value();
    EXPECT_TRUE(device_->copy_to_device(memory, values.data(), values.size() * sizeof(T), stream_));
    EXPECT_TRUE(device_->synchronize(stream_));
    return static_cast<T*>(memory);
  }
  template <class T>
  std::vector<T> host_copy(const T* memory, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(device_->copy_to_host(values.data(), memory, count * sizeof(T), stream_));
    EXPECT_TRUE(device_->synchronize(stream_));
    return values;
  }

  static std::vector<float> ramp(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
  }
  static std::vector<KernelArgument> arguments(const float* x, std::int64_t stride, float* y,
                                               KernelArgument rows, std::int64_t cols) {
    return {KernelArgument::tensor(DType::f32, x, stride), KernelArgument::tensor(DType::f32, y),
            rows, KernelArgument::size(cols), KernelArgument::scalar(2.0f)};
  }
  // What kScale makes of ramp().
  static std::vector<float> expected(std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    std::vector<float> values;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c)
        values.push_back(2.0f * static_cast<float>(r * stride + cols - c));
    return values;
  }

  std::shared_ptr<Device> device_;
  std::optional<Library> libcuda_;
  Stream stream_;
};

TEST_F(CudaGpu, PropertiesMakeSense) {
  const DeviceProperties& found = device_->properties();
  EXPECT_FALSE(found.name.empty());
  EXPECT_GE(found.cc, 80);
  EXPECT_GT(found.sm_count, 1);
  EXPECT_GT(found.shared_optin, 48 * 1024);
  EXPECT_EQ(found.max_threads, 1024);
  EXPECT_GT(found.memory_bytes, std::int64_t{1} << 30);
  EXPECT_GE(found.driver_version, 12000);
  EXPECT_FALSE(device_->targets().empty());
}

TEST_F(CudaGpu, MemoryMakesARoundTrip) {
  stream_ = device_->create_stream().value();
  const std::vector<float> values = ramp(1 << 22);
  float* const a = device_memory(values);
  float* const b = device_memory(std::vector<float>(1 << 22));
  ASSERT_TRUE(device_->copy_on_device(b, a, values.size() * 4, stream_));
  ASSERT_TRUE(device_->fill(b, 0, 4, stream_));
  std::vector<float> back = host_copy(b, values.size());
  EXPECT_EQ(back[0], 0.0f);
  back[0] = 1.0f;
  EXPECT_EQ(back, values);
  EXPECT_TRUE(device_->free(a));
  EXPECT_TRUE(device_->free(b));
  EXPECT_TRUE(device_->destroy_stream(stream_));
}

TEST_F(CudaGpu, EventsMeasureTime) {
  const Event from = device_->create_event().value();
  const Event to = device_->create_event().value();
  void* const memory = device_->allocate(256 << 20).value();
  ASSERT_TRUE(device_->record(from, {}));
  ASSERT_TRUE(device_->fill(memory, 1, 256 << 20, {}));
  ASSERT_TRUE(device_->record(to, {}));
  const double ms = device_->elapsed_ms(from, to).value();
  EXPECT_GT(ms, 0.01);
  EXPECT_LT(ms, 1000.0);
  EXPECT_TRUE(device_->free(memory));
}

TEST_F(CudaGpu, KernelComputesWithStridesAndMuchSharedMemory) {
  constexpr std::int64_t kRows = 100, kCols = 20000, kStride = 20004;  // 80 KB of shared memory
  const auto scale = kernel("scale", kScale);
  ASSERT_TRUE(scale->preload());
  const float* const x = device_memory(ramp(kRows * kStride));
  float* const y = device_memory(std::vector<float>(kRows * kCols));
  const auto launched =
      scale->launch(arguments(x, kStride, y, KernelArgument::size(kRows), kCols), stream_);
  ASSERT_TRUE(launched) << launched.error().message();
  EXPECT_EQ(host_copy(y, kRows * kCols), expected(kRows, kCols, kStride));
}

TEST_F(CudaGpu, SizeInDeviceMemoryIsReadThere) {
  const auto scale = kernel("scale", kScale);
  ASSERT_TRUE(scale->preload());
  const float* const x = device_memory(ramp(10 * 32));
  float* const y = device_memory(std::vector<float>(10 * 32, -1.0f));
  const std::int64_t* const rows = device_memory(std::vector<std::int64_t>{3});
  ASSERT_TRUE(scale->launch(arguments(x, 0, y, KernelArgument::device_size(rows, 10), 32), {}));
  std::vector<float> wanted = expected(3, 32, 32);
  wanted.resize(10 * 32, -1.0f);
  EXPECT_EQ(host_copy(y, 10 * 32), wanted);
}

TEST_F(CudaGpu, BytesOfTheCodeAreNotNeededAfterTheLoad) {
  const auto scale = kernel("scale", kScale);
  Artifact artifact = scale->artifact();
  const auto code = device_->load(artifact, {.shared_bytes = 1024}, nullptr).value();
  std::fill(artifact.payload.begin(), artifact.payload.end(), std::byte{0xee});
  const float* x = device_memory(ramp(64));
  float* y = device_memory(std::vector<float>(64));
  std::int64_t stride = 64, cols = 64, rows[2] = {0, 1};
  float factor = 2.0f;
  void* parameters[] = {&x, &stride, &y, rows, &cols, &factor};
  LaunchShape shape;
  shape.block = {64, 1, 1};
  shape.shared_bytes = 256;
  ASSERT_TRUE(device_->launch(*code, shape, parameters, {}));
  EXPECT_EQ(host_copy(y, 64), expected(1, 64, 64));
}

TEST_F(CudaGpu, BigClusterLaunches) {
  if (device_->properties().cc != 90) GTEST_SKIP() << "a cluster of 16 is tested on 9.0 only";
  const auto cluster = kernel("cluster", kCluster);
  ASSERT_TRUE(cluster->preload());
  std::int32_t* const y = device_memory(std::vector<std::int32_t>{0});
  const KernelArgument given[] = {KernelArgument::tensor(DType::i32, y)};
  const auto launched = cluster->launch(given, {});
  ASSERT_TRUE(launched) << launched.error().message();
  EXPECT_EQ(host_copy(y, 1)[0], 16);
}

TEST_F(CudaGpu, CaptureHoldsThePreloadedKernel) {
  stream_ = device_->create_stream().value();
  ASSERT_TRUE(device_->context_id());
  auto scale = kernel("scale", kScale);
  const float* const x = device_memory(ramp(7 * 48));
  float* const y = device_memory(std::vector<float>(7 * 48));
  const auto given = arguments(x, 0, y, KernelArgument::size(7), 48);

  // A context of this device is current here, as in an engine.
  cuda::ContextHandle* context = nullptr;
  driver<int(void*, int)>("cuDevicePrimaryCtxRetain", &context, 0);
  driver<int(void*)>("cuCtxSetCurrent", context);
  driver<int(void*, int)>("cuStreamBeginCapture_v2", stream_.handle, 0);
  EXPECT_EQ(scale->launch(given, stream_).error().code, ErrorCode::not_resident);
  void* graph = nullptr;
  driver<int(void*, void**)>("cuStreamEndCapture", stream_.handle, &graph);

  ASSERT_TRUE(scale->preload());
  const auto calls = device_->capture(stream_, [&]() -> Result<void> {
    EXPECT_TRUE(device_->is_capturing(stream_).value());
    return scale->launch(given, stream_);
  });
  ASSERT_TRUE(calls) << calls.error().message();
  EXPECT_EQ(host_copy(y, 7 * 48), std::vector<float>(7 * 48));  // captured, not run
  scale.reset();                                                // the graph outlives the kernel
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(device_->fill(y, 0, 7 * 48 * sizeof(float), stream_));
    ASSERT_TRUE((*calls)->repeat());
    ASSERT_TRUE(device_->synchronize(stream_));
    EXPECT_EQ(host_copy(y, 7 * 48), expected(7, 48, 48));
  }
  driver<int(void*)>("cuCtxSetCurrent", nullptr);
}

TEST_F(CudaGpu, TwoContextsOfADeviceAreApart) {
  const auto scale = kernel("scale", kScale);
  const std::uint64_t primary = device_->context_id().value();
  ASSERT_TRUE(scale->preload());
  const Stream prepared = device_->create_stream().value();  // goes to the primary one for good
  const float* const its_x = device_memory(ramp(5 * 16));
  float* const its_y = device_memory(std::vector<float>(5 * 16));
  for (int i = 0; i < 2; ++i) {
    cuda::ContextHandle* context = nullptr;
    driver<int(void*, unsigned, int)>("cuCtxCreate_v2", &context, 0u, 0);
    EXPECT_NE(device_->context_id().value(), primary);
    EXPECT_FALSE(scale->resident().value());
    ASSERT_TRUE(scale->preload());
    const float* const x = device_memory(ramp(5 * 16));
    float* const y = device_memory(std::vector<float>(5 * 16));
    ASSERT_TRUE(scale->launch(arguments(x, 0, y, KernelArgument::size(5), 16), {}));
    EXPECT_EQ(host_copy(y, 5 * 16), expected(5, 16, 16));
    EXPECT_TRUE(scale->launch(arguments(its_x, 0, its_y, KernelArgument::size(5), 16), prepared));
    driver<int(void*)>("cuCtxDestroy_v2", context);
  }
  EXPECT_EQ(device_->context_id().value(), primary);
  EXPECT_TRUE(scale->resident().value());
  EXPECT_TRUE(device_->synchronize(prepared));
  EXPECT_EQ(host_copy(its_y, 5 * 16), expected(5, 16, 16));
}

TEST_F(CudaGpu, LaunchCostsLittleMoreThanTheDrivers) {
  const auto scale = kernel("scale", kScale);
  ASSERT_TRUE(scale->preload());
  const float* const x = device_memory(ramp(32));
  float* const y = device_memory(std::vector<float>(32));
  const auto given = arguments(x, 0, y, KernelArgument::size(1), 32);
  const auto code = device_->load(scale->artifact(), {}, nullptr).value();
  std::int64_t stride = 32, cols = 32, rows[2] = {0, 1};
  float factor = 2.0f;
  void* parameters[] = {
      const_cast<float**>(&x), &stride, const_cast<float**>(&y), rows, &cols, &factor};
  LaunchShape shape;
  shape.block = {64, 1, 1};
  shape.shared_bytes = 128;
  const auto ns = [&](const auto& call) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(call());
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(device_->synchronize({}));
    return took.count() / 200;
  };
  double bare = 1e9, whole = 1e9;
  for (int round = 0; round < 100; ++round) {  // in turns: other work on the machine meets both
    bare = std::min(bare, ns([&] { return device_->launch(*code, shape, parameters, {}); }));
    whole = std::min(whole, ns([&] { return scale->launch(given, {}); }));
  }
  std::printf("Kernel::launch %.0f ns, Device::launch %.0f ns\n", whole, bare);
  EXPECT_LT(whole, 2.5 * bare);
}

}  // namespace
}  // namespace diecast
