// Every quantizer on a GPU, see patterns.h.
#include "ops/patterns.h"

namespace diecast::testing {
namespace {

class PatternsOnGpu : public ::testing::TestWithParam<const char*> {};

TEST_P(PatternsOnGpu, EqualTheReferenceToTheBit) {
  const auto device = test_runtime()->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  const auto tmpl = test_runtime()->find_template(GetParam()).value();
  const Bindings some = variants::wanted_variants(*tmpl, Target::parse("sm_90a").value()).front();
  const auto exact = test_runtime()->specialize_for(GetParam(), some, **device);
  ASSERT_TRUE(exact) << exact.error().message();
  expect_patterns_as_the_reference(GetParam(), exact->target(), *device);
}

INSTANTIATE_TEST_SUITE_P(Quantizers, PatternsOnGpu, ::testing::ValuesIn(kQuantizers),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace diecast::testing
