// Every quantizer on the host, see patterns.h.
#include "how_many.h"
#include "ops/patterns.h"

namespace diecast::testing {
namespace {

class PatternsOnHost : public ::testing::TestWithParam<const char*> {};

TEST_P(PatternsOnHost, EqualTheReferenceToTheBit) {
  const auto device = open_host_device({});
  if (!device) GTEST_SKIP() << device.error().message();
  const auto most = how_many<std::size_t>(3, SIZE_MAX, SIZE_MAX);
  expect_patterns_as_the_reference(GetParam(), (*device)->targets().front(), *device, most);
}

INSTANTIATE_TEST_SUITE_P(Quantizers, PatternsOnHost, ::testing::ValuesIn(kQuantizers),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace diecast::testing
