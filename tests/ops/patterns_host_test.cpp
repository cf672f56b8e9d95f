// Every quantizer on the host, see patterns.h.
#include "how_many.h"
#include "ops/host_device_test.h"
#include "ops/patterns.h"

namespace diecast::testing {
namespace {

class PatternsOnHost : public HostDeviceTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PatternsOnHost, EqualTheReferenceToTheBit) {
  const auto most = how_many<std::size_t>(3, SIZE_MAX, SIZE_MAX);
  expect_patterns_as_the_reference(GetParam(), device_->targets().front(), device_, most);
}

INSTANTIATE_TEST_SUITE_P(Quantizers, PatternsOnHost, ::testing::ValuesIn(kQuantizers),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace diecast::testing
