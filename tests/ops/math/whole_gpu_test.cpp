// floor, ceil, trunc, rint and round on a GPU.
#include "ops/gpu_device_test.h"
#include "ops/math/whole.h"

namespace diecast::math_test {
namespace {

using WholeOnGpu = GpuDeviceTest;

TEST_F(WholeOnGpu, IsTheCLibrarys) {
  for (std::size_t function = 0; function < kWholes.size(); ++function) {
    expect_whole(device_, DType::f32, function, numbers_apart(4093, 32));
    for (const DType type : {DType::bf16, DType::f16})
      expect_whole(device_, type, function, numbers_apart(1, 16));
  }
}

}  // namespace
}  // namespace diecast::math_test
