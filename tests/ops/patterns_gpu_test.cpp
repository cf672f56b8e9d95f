// Every quantizer on a GPU, see patterns.h.
#include "ops/gpu_device_test.h"
#include "ops/patterns.h"

namespace diecast::testing {
namespace {

class PatternsOnGpu : public GpuDeviceTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PatternsOnGpu, EqualTheReferenceToTheBit) {
  const auto tmpl = runtime_->find_template(GetParam()).value();
  const Bindings some = variants::wanted_variants(*tmpl, Target::parse("sm_90a").value()).front();
  const auto exact = runtime_->specialize_for(GetParam(), some, *device_);
  ASSERT_TRUE(exact) << exact.error().message();
  expect_patterns_as_the_reference(GetParam(), exact->target(), device_);
}

INSTANTIATE_TEST_SUITE_P(Quantizers, PatternsOnGpu, ::testing::ValuesIn(kQuantizers),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace diecast::testing
