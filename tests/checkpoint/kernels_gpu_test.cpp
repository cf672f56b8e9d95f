// Checkpoints and vectors through kernels on a GPU.
#include <checkpoint/device_conversion.h>

#include "ops/gpu_device_test.h"

namespace diecast::testing {
namespace {

class KernelsOnGpu : public GpuDeviceTest {};

TEST_F(KernelsOnGpu, FilesAreThoseOfTheScalarKernels) { expect_files_as_scalar(device_); }

TEST_F(KernelsOnGpu, PlainVectorsPassToTheBit) { expect_vectors_pass(device_); }

}  // namespace
}  // namespace diecast::testing
