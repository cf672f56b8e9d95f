// The same variants on a GPU: equal to the reference, so equal to the host, to the bit.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/covering.h"
#include "ops/test_runtime.h"
#include "ops/variants.h"

namespace diecast {
namespace {

class VariantsOnGpu : public ::testing::TestWithParam<std::string> {};

TEST_P(VariantsOnGpu, EqualTheReferenceToTheBit) {
  const auto runtime = test_runtime();
  const auto device = runtime->default_device();
  if (!device) GTEST_SKIP() << device.error().message();
  const auto tmpl = runtime->find_template(GetParam()).value();
  const Target target =
      runtime
          ->specialize_for(
              GetParam(), variants::wanted_variants(*tmpl, Target::parse("sm_90a").value()).front(),
              **device)
          .value()
          .target();
  std::vector<Specialization> specializations;
  for (const Bindings& bindings : variants::wanted_variants(*tmpl, target)) {
    specializations.push_back(Specialization::make(tmpl, bindings, target).value());
  }
  for (const WarmOutcome& outcome : warm(*runtime, specializations)) {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
  }
  for (const Specialization& specialization : specializations) {
    const auto kernel = runtime->preload(specialization, *device).value();
    for (const variants::Case& one : variants::cases_of(specialization)) {
      ASSERT_EQ(variants::difference(*kernel, one), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, VariantsOnGpu, ::testing::ValuesIn(variants::known_templates()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace diecast
