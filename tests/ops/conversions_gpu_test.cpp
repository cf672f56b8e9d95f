// The device conversions on a GPU, its instructions and the plain ones; see conversions.h.
#include "ops/conversions.h"
#include "ops/gpu_device_test.h"

namespace diecast {
namespace {

class ConversionsOnGpu : public GpuDeviceTest,
                         public ::testing::WithParamInterface<variants::Conversion> {};

TEST_P(ConversionsOnGpu, EqualTheReference) {
  variants::expect_conversion_equal(device_, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Formats, ConversionsOnGpu, ::testing::ValuesIn(variants::conversions()),
                         variants::conversion_name);

}  // namespace
}  // namespace diecast
