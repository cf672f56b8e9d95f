// Checkpoints and vectors through kernels that are compiled for, and run on, this processor.
#include <checkpoint/device_conversion.h>
#include <diecast/launch/host_device.h>

namespace diecast::testing {
namespace {

TEST(KernelsOnHost, FilesAreThoseOfTheScalarKernels) {
  const auto device = open_host_device(HostDeviceOptions::from_environment());
  if (!device) GTEST_SKIP() << device.error().message();
  expect_files_as_scalar(*device);
}

TEST(KernelsOnHost, PlainVectorsPassToTheBit) {
  const auto device = open_host_device(HostDeviceOptions::from_environment());
  if (!device) GTEST_SKIP() << device.error().message();
  expect_vectors_pass(*device);
}

}  // namespace
}  // namespace diecast::testing
