// Checkpoints and vectors through kernels on a GPU.
#include <checkpoint/device_conversion.h>

namespace diecast::testing {
namespace {

TEST(KernelsOnGpu, FilesAreThoseOfTheScalarKernels) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  expect_files_as_scalar(*device);
}

TEST(KernelsOnGpu, PlainVectorsPassToTheBit) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  expect_vectors_pass(*device);
}

}  // namespace
}  // namespace diecast::testing
