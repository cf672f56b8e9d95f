// The functions of diecast/device/math on a GPU: the host's bits, and approximations that are near.
#include <diecast/launch/host_device.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ops/math/functions.h"
#include "ops/test_runtime.h"

namespace diecast::math_test {
namespace {

class MathOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto device = test_runtime()->default_device();
    if (!device) GTEST_SKIP() << device.error().message();
    gpu_ = *device;
    const auto host = open_host_device({});
    if (!host) GTEST_SKIP() << host.error().message();
    host_ = *host;
  }
  void expect_equal(std::size_t function, DType type, std::uint32_t step, int bits) {
    Functions on(gpu_, type), wanted(host_, type);
    const std::uint64_t all = (std::uint64_t{1} << bits) / step;
    const auto y = exponents(std::min<std::uint64_t>(all, 1u << 24), type);
    for (std::uint64_t at = 0; at < all; at += y.size()) {
      const auto first = static_cast<std::uint32_t>(at * step);
      const auto got = on.run(function, first, step, y),
                 want = wanted.run(function, first, step, y);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof got[i]), 0)
            << functions()[function].name << " of "
            << number_of(first + static_cast<std::uint32_t>(i) * step, type) << ", "
            << number_of(y[i], type) << ": " << got[i] << ", not " << want[i];
    }
  }
  void expect_all_equal(DType type) {
    for (std::size_t function = 0; function < functions().size(); ++function)
      expect_equal(function, type, 1, 16);
  }
  std::shared_ptr<Device> gpu_, host_;
};

TEST_F(MathOnGpu, OfBf16HasTheHostsBits) { expect_all_equal(DType::bf16); }
TEST_F(MathOnGpu, OfF16HasTheHostsBits) { expect_all_equal(DType::f16); }

class MathOnGpuOfFloats : public MathOnGpu, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(MathOnGpuOfFloats, HasTheHostsBits) { expect_equal(GetParam(), DType::f32, 4093, 32); }
TEST_P(MathOnGpuOfFloats, HasTheHostsSumOfAll) {
  EXPECT_EQ(sum_of_all(gpu_, GetParam()), functions()[GetParam()].sum);
}
INSTANTIATE_TEST_SUITE_P(Functions, MathOnGpuOfFloats, every_function(), function_name);

// Of arguments from 1/8 to 8, where each is at home.
TEST_F(MathOnGpu, ApproximationsAreNear) {
  Functions on(gpu_, DType::f32, true);
  const std::uint32_t first = 0x3E000000, step = 0x1001;
  const std::vector<std::uint32_t> y((0x41000000u - first) / step, 0x3FC00000);  // 1.5
  for (std::size_t function = 0; function < functions().size(); ++function) {
    const auto got = on.run(function, first, step, y);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float x = number_of(first + static_cast<std::uint32_t>(i) * step, DType::f32);
      const double exact = functions()[function].exact(x, 1.5);
      ASSERT_NEAR(got[i], exact, functions()[function].fast_error * std::max(1.0, std::fabs(exact)))
          << functions()[function].name << " of " << x;
    }
  }
}

}  // namespace
}  // namespace diecast::math_test
