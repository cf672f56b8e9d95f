// The device conversions on a GPU, its instructions and the plain ones; see conversions.h.
#include "ops/conversions.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

TEST(Conversions, EqualTheReferenceOnGpu) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  variants::expect_conversions_equal(*device);
}

}  // namespace
}  // namespace diecast
