// The same variants on a GPU: equal to the reference, so equal to the host, to the bit.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/covering.h"
#include "ops/gpu_device_test.h"
#include "ops/variants.h"

namespace diecast {
namespace {

class VariantsOnGpu : public GpuDeviceTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(VariantsOnGpu, EqualTheReferenceToTheBit) {
  const auto tmpl = runtime_->find_template(GetParam()).value();
  const Target target =
      runtime_
          ->specialize_for(
              GetParam(), variants::wanted_variants(*tmpl, Target::parse("sm_90a").value()).front(),
              *device_)
          .value()
          .target();
  std::vector<Specialization> specializations;
  for (const Bindings& bindings : variants::wanted_variants(*tmpl, target)) {
    specializations.push_back(Specialization::make(tmpl, bindings, target).value());
  }
  for (const WarmOutcome& outcome : warm(*runtime_, specializations)) {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
  }
  for (const Specialization& specialization : specializations) {
    const auto kernel = runtime_->preload(specialization, device_).value();
    for (const variants::Case& one : variants::cases_of(specialization)) {
      ASSERT_EQ(variants::difference(*kernel, one), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, VariantsOnGpu, ::testing::ValuesIn(variants::known_templates()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace diecast
