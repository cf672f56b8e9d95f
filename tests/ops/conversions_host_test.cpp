// The device conversions as this processor runs them; see conversions.h.
#include "ops/conversions.h"

namespace diecast {
namespace {

TEST(Conversions, EqualTheReferenceOnHost) {
  const auto device = open_host_device({});
  if (!device) GTEST_SKIP() << device.error().message();
  variants::expect_conversions_equal(*device);
}

}  // namespace
}  // namespace diecast
