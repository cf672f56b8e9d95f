// Checkpoints and vectors through kernels that are compiled for, and run on, this processor.
#include <checkpoint/device_conversion.h>
#include <diecast/launch/host_device.h>

namespace diecast::testing {
namespace {

std::shared_ptr<Device> host() {
  return open_host_device(HostDeviceOptions::from_environment()).value();
}

TEST(KernelsOnHost, FilesAreThoseOfTheScalarKernels) { expect_files_as_scalar(host()); }

TEST(KernelsOnHost, PlainVectorsPassToTheBit) { expect_vectors_pass(host()); }

}  // namespace
}  // namespace diecast::testing
