// The device conversions as this processor runs them; see conversions.h.
#include "ops/conversions.h"
#include "ops/host_device_test.h"

namespace diecast {
namespace {

using Conversions = HostDeviceTest;

TEST_F(Conversions, EqualTheReferenceOnHost) { variants::expect_conversions_equal(device_); }

}  // namespace
}  // namespace diecast
