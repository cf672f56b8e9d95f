// Variants compile for every architecture, without a GPU, a warning or a spilled register: every
// day a set with every value of every parameter, for no result is looked at here.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/covering.h"
#include "ops/test_runtime.h"
#include "ops/variants.h"

namespace diecast {
namespace {

class VariantsCompile : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(VariantsCompile, WithoutAWarningOrASpill) {
  const auto& [name, target_name] = GetParam();
  const auto runtime = test_runtime();
  const Target target = Target::parse(target_name).value();
  const auto compiler = runtime->compiler(target);
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  if (const auto accepted = (*compiler)->accepts(target); !accepted) {
    GTEST_SKIP() << accepted.error().message();
  }
  const auto tmpl = runtime->find_template(name).value();
  std::vector<Specialization> specializations;
  for (const Bindings& bindings :
       variants::wanted_variants(*tmpl, target, variants::Covered::values)) {
    specializations.push_back(Specialization::make(tmpl, bindings, target).value());
  }
  ASSERT_FALSE(specializations.empty());
  for (const WarmOutcome& outcome : warm(*runtime, specializations)) {
    ASSERT_FALSE(outcome.error) << outcome.error->message();
    const Artifact& artifact = *outcome.resolved->artifact;
    EXPECT_EQ(artifact.log, "") << artifact.spelling;
    EXPECT_EQ(artifact.spill_bytes, 0) << artifact.spelling;
    EXPECT_GT(artifact.registers, 0) << artifact.spelling;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Templates, VariantsCompile,
    ::testing::Combine(::testing::ValuesIn(variants::known_templates()),
                       ::testing::Values("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a",
                                         "sm_120a", "sm_121a")),
    [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace diecast
