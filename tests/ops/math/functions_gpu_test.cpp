// The functions of diecast/device/math on a GPU: the host's bits, and approximations that are near.
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ops/gpu_device_test.h"
#include "ops/math/functions.h"

namespace diecast::math_test {
namespace {

class MathOnGpu : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    const auto host = open_host_device({});
    if (!host) GTEST_SKIP() << host.error().message();
    host_ = *host;
  }
  void expect_equal(std::size_t function, DType type, const Numbers& numbers) {
    const auto y = exponents(1 << 16, type);
    const auto got = Functions(device_, type).results(function, numbers, y),
               want = Functions(host_, type).results(function, numbers, y);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof got[i]), 0)
          << functions()[function].name << " of "
          << number_of(static_cast<std::uint32_t>(i) * numbers.step, type) << ", "
          << number_of(y[i % y.size()], type) << ": " << got[i] << ", not " << want[i];
  }
  void expect_all_equal(DType type) {
    for (std::size_t function = 0; function < functions().size(); ++function)
      expect_equal(function, type, numbers_apart(1, 16));
  }
  std::shared_ptr<Device> host_;
};

TEST_F(MathOnGpu, OfBf16HasTheHostsBits) { expect_all_equal(DType::bf16); }
TEST_F(MathOnGpu, OfF16HasTheHostsBits) { expect_all_equal(DType::f16); }

class MathOnGpuOfFloats : public MathOnGpu, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(MathOnGpuOfFloats, HasTheHostsBits) {
  expect_equal(GetParam(), DType::f32, numbers_apart(4093, 32));
}
TEST_P(MathOnGpuOfFloats, HasTheHostsSumOfAll) {
  EXPECT_EQ(Functions(device_, DType::f32).sum_of_all(GetParam()), functions()[GetParam()].sum);
}
TEST_P(MathOnGpuOfFloats, IsWithinItsBounds) {
  Functions on(device_, DType::f32);
  expect_within_bounds(on, GetParam(), kAllFloats, true);
}
INSTANTIATE_TEST_SUITE_P(Functions, MathOnGpuOfFloats, every_function(), function_name);

// To the functions that they stand for, of arguments from 1/8 to 8, where each is at home.
TEST_F(MathOnGpu, ApproximationsAreNear) {
  Functions fast(device_, DType::f32, true), on(device_, DType::f32);
  const Numbers numbers{0x3E000000, 0x1001, (0x41000000 - 0x3E000000) / 0x1001};
  const std::vector<std::uint32_t> y = {0x3FC00000};  // 1.5
  for (std::size_t function = 0; function < functions().size(); ++function) {
    const auto got = fast.results(function, numbers, y), want = on.results(function, numbers, y);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i],
                  functions()[function].fast_error * std::max(1.0f, std::fabs(want[i])))
          << functions()[function].name << " of "
          << number_of(numbers.first + static_cast<std::uint32_t>(i) * numbers.step, DType::f32);
  }
}

}  // namespace
}  // namespace diecast::math_test
