// The device conversions on a GPU, its instructions and the plain ones; see conversions.h.
#include "ops/conversions.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

class ConversionsOnGpu : public ::testing::TestWithParam<variants::Conversion> {};

TEST_P(ConversionsOnGpu, EqualTheReference) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  variants::expect_conversion_equal(*device, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Formats, ConversionsOnGpu, ::testing::ValuesIn(variants::conversions()),
                         variants::conversion_name);

}  // namespace
}  // namespace diecast
