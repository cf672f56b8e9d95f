// Every variant that the templates' own spaces give, on the host, equal to the reference to the
// bit.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/covering.h"
#include "ops/host_device_test.h"
#include "ops/test_runtime.h"
#include "ops/variants.h"

namespace diecast {
namespace {

TEST(Variants, EveryBuiltInTemplateHasARunner) {
  EXPECT_EQ(test_runtime()->template_names(), variants::known_templates());
}

TEST(Variants, TheCoveringSetHasEveryPairAndIsSmallerThanTheSpace) {
  const auto tmpl = test_runtime()->find_template("quantize_nvfp4_row_scaled").value();
  const auto space = tmpl->space(Target::parse("host").value()).value();
  const auto covering = variants::covering_set(space);
  EXPECT_LT(covering.size(), space.size());
  EXPECT_EQ(variants::covering_set(covering).size(), covering.size());
  const auto values = variants::covering_set(space, variants::Covered::values);
  EXPECT_LT(values.size(), covering.size());
  const auto has_pair = [&](int threads, const char* in) {
    for (const Bindings& b : covering) {
      if (b.find("THREADS")->number == threads && b.find("IN")->word == in) return true;
    }
    return false;
  };
  for (const int threads : {32, 256, 512}) {
    for (const char* in : {"bf16", "f16", "f32"})
      EXPECT_TRUE(has_pair(threads, in)) << threads << in;
  }
}

class VariantsOnHost : public HostDeviceTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(VariantsOnHost, EqualTheReferenceToTheBit) {
  const auto runtime = test_runtime();
  const Target target = device_->targets().front();
  const auto tmpl = runtime->find_template(GetParam()).value();
  std::vector<Specialization> specializations;
  constexpr auto kEveryday = variants::Covered::values;
  for (const Bindings& bindings : variants::wanted_variants(*tmpl, target, kEveryday)) {
    specializations.push_back(Specialization::make(tmpl, bindings, target).value());
  }
  if (specializations.empty()) GTEST_SKIP() << "a kernel of GPUs alone";
  for (const WarmOutcome& outcome : warm(*runtime, specializations)) {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
    EXPECT_EQ(outcome.resolved->artifact->log, "") << outcome.specialization->spelling();
  }
  int cases = 0;
  for (const Specialization& specialization : specializations) {
    const auto kernel = runtime->preload(specialization, device_).value();
    for (const variants::Case& one : variants::cases_of(specialization)) {
      ASSERT_EQ(variants::difference(*kernel, one), "");
      ++cases;
    }
  }
  RecordProperty("variants", static_cast<int>(specializations.size()));
  RecordProperty("cases", cases);
}

INSTANTIATE_TEST_SUITE_P(Templates, VariantsOnHost,
                         ::testing::ValuesIn(variants::known_templates()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace diecast
