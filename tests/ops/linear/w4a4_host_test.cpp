// NVFP4 activations with NVFP4 weights through `linear`: x is quantized and read back as numbers,
// which bf16 holds, and the global scales are in the factor. It differs from the exact product of
// gemm_nvfp4 by how sums are rounded alone.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/test_runtime.h"

namespace diecast {
namespace {

constexpr std::int64_t kRows = 9, kCols = 72, kDepth = 2048;

class W4A4OnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto host = open_host_device({});
    if (!host) GTEST_SKIP() << host.error().message();
    device_ = *host;
  }
  template <class T>
  DeviceMemory on_device(const std::vector<T>& values) {
    return DeviceMemory::copy_of(device_, values, {}).value();
  }
  template <class T>
  std::vector<T> fetched(const void* from, std::int64_t count) {
    std::vector<T> out(static_cast<std::size_t>(count));
    device_->copy_to_host(out.data(), from, out.size() * sizeof(T), {}).value();
    device_->synchronize({}).value();
    return out;
  }
  QuantizedBuffer drawn(std::int64_t rows, double spread, unsigned seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, spread);
    std::vector<float> values(static_cast<std::size_t>(rows * kDepth));
    for (float& value : values) value = static_cast<float>(normal(random));
    const DeviceMemory x = on_device(values);
    const Shape shape{rows, kDepth};
    QuantizedBuffer out = QuantizedBuffer::allocate(device_, shape).value();
    quantize_nvfp4(*runtime_, Tensor{x.data(), DType::f32, shape}, out.tensor(),
                   {.device = device_})
        .value();
    device_->synchronize({}).value();
    return out;
  }
  // Codes times block scales.
  DeviceMemory numbers(const QuantizedBuffer& of, DType type) {
    QuantizedTensor x = of.tensor();
    const DeviceMemory one = on_device(std::vector<float>{1.0f});
    x.rowwise.amax = static_cast<float*>(one.data());
    const auto bytes = static_cast<std::size_t>(x.rows() * kDepth * dtype_bits(type) / 8);
    DeviceMemory out = DeviceMemory::allocate(device_, bytes).value();
    dequantize_nvfp4(*runtime_, x, Tensor{out.data(), type, x.shape},
                     {.form = GlobalForm::decode, .device = device_})
        .value();
    device_->synchronize({}).value();
    return out;
  }
  std::shared_ptr<Device> device_;
  std::shared_ptr<Runtime> runtime_ = test_runtime();
};

TEST_F(W4A4OnHost, DiffersFromTheExactProductByRoundedSumsAlone) {
  const QuantizedBuffer a = drawn(kRows, 3, 1), b = drawn(kCols, 0.02, 2);
  const float scale_a = fetched<float>(a.tensor().rowwise.amax, 1)[0] / (6 * 448);
  const float scale_b = fetched<float>(b.tensor().rowwise.amax, 1)[0] / (6 * 448);
  const Shape shape{kRows, kCols};
  const DeviceMemory exact = on_device(std::vector<float>(kRows * kCols)),
                     fast = on_device(std::vector<float>(kRows * kCols));
  gemm_nvfp4(*runtime_, a.tensor(), b.tensor(), Tensor{exact.data(), DType::f32, shape},
             {.device = device_})
      .value();
  PackedLinear packed{.shape = b.tensor().shape};
  packed.bytes = PackedLinear::bytes_for(packed.format, packed.shape).value();
  const DeviceMemory bytes =
      DeviceMemory::allocate(device_, static_cast<std::size_t>(packed.bytes)).value();
  packed.data = bytes.data();
  const QuantizedSide& side = b.tensor().rowwise;
  pack_linear(*runtime_, {.shape = packed.shape, .codes = side.data, .scales = side.scale}, packed,
              {.device = device_})
      .value();
  const DeviceMemory x = numbers(a, DType::bf16);
  const DeviceMemory factor = on_device(std::vector<float>{scale_a * scale_b});
  linear(*runtime_, Tensor{x.data(), DType::bf16, Shape{kRows, kDepth}}, packed,
         static_cast<const float*>(factor.data()), Tensor{fast.data(), DType::f32, shape},
         {.device = device_})
      .value();
  const auto want = fetched<float>(exact.data(), kRows * kCols);
  const auto got = fetched<float>(fast.data(), kRows * kCols);
  const DeviceMemory of_a = numbers(a, DType::f32), of_b = numbers(b, DType::f32);
  const auto left = fetched<float>(of_a.data(), kRows * kDepth);
  const auto right = fetched<float>(of_b.data(), kCols * kDepth);
  double worst = 0;
  for (std::int64_t i = 0; i < kRows * kCols; ++i) {
    double magnitudes = 0;
    for (std::int64_t k = 0; k < kDepth; ++k)
      magnitudes += std::abs(double{left[static_cast<std::size_t>(i / kCols * kDepth + k)]} *
                             right[static_cast<std::size_t>(i % kCols * kDepth + k)]);
    magnitudes *= double{scale_a} * scale_b;
    const auto at = static_cast<std::size_t>(i);
    worst = std::max(worst, std::abs(double{got[at]} - want[at]) / magnitudes);
  }
  EXPECT_LE(worst, 0x1p-22) << worst;
  EXPECT_GT(worst, 0) << "the same bits: not what is to be shown";
}

}  // namespace
}  // namespace diecast
