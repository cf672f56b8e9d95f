// The device conversions as this processor runs them; see conversions.h.
#include "ops/conversions.h"
#include "ops/host_device_test.h"

namespace diecast {
namespace {

class ConversionsOnHost : public HostDeviceTest,
                          public ::testing::WithParamInterface<variants::Conversion> {};

TEST_P(ConversionsOnHost, EqualTheReference) {
  variants::expect_conversion_equal(device_, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Formats, ConversionsOnHost, ::testing::ValuesIn(variants::conversions()),
                         variants::conversion_name);

}  // namespace
}  // namespace diecast
