// Variants compile for every architecture, without a GPU, a warning or a spilled register, and take
// what their headers say: compiled_variants(), which architectures share, for no result is looked
// at here.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fake/cuda_script.h"
#include "ops/covering.h"
#include "ops/test_runtime.h"
#include "ops/variants.h"

namespace diecast {
namespace {

const std::string kExamples = DIECAST_SOURCE_DIR "/examples/kernels";

// The names of the example kernels.
std::vector<std::string> example_kernels() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples))
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

// A runtime that has them too.
std::shared_ptr<Runtime> runtime_with_examples() {
  const auto runtime = new_test_runtime();
  runtime->add_header("kernels/piece.h", kExamples + "/include/kernels/piece.h").value();
  for (const std::string& name : example_kernels())
    runtime->add(kExamples + "/" + name + ".cu").value();
  return runtime;
}

class VariantsCompile : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto compiler = runtime_->compiler(Target::parse("sm_80").value());
    if (!compiler) GTEST_SKIP() << compiler.error().message();
  }

  // The architectures that this compiler knows.
  std::vector<Target> known(const std::vector<const char*>& names) {
    std::vector<Target> targets;
    for (const char* name : names) {
      const Target target = Target::parse(name).value();
      const auto compiler = runtime_->compiler(target);
      if (compiler && (*compiler)->accepts(target)) targets.push_back(target);
    }
    return targets;
  }

  void expect_clean(const std::vector<Specialization>& specializations) {
    for (const WarmOutcome& outcome : warm(*runtime_, specializations)) {
      ASSERT_FALSE(outcome.error) << outcome.error->message();
      const auto artifact = outcome.resolved->artifact;
      EXPECT_EQ(artifact->log, "") << artifact->spelling;
      EXPECT_EQ(artifact->spill_bytes, 0) << artifact->spelling;
      EXPECT_GT(artifact->registers, 0) << artifact->spelling;
      if (outcome.specialization->target().name() == "sm_90a") expect_loads(outcome);
    }
  }

  // As a driver reads it: the parameters that the machine code takes are those of the header.
  void expect_loads(const WarmOutcome& outcome) {
    const auto kernel =
        Kernel::make(*outcome.specialization, outcome.resolved->artifact, cuda_.device()).value();
    const auto loaded = kernel->preload();
    EXPECT_TRUE(loaded) << loaded.error().message();
  }

  std::shared_ptr<Runtime> runtime_ = runtime_with_examples();
  testing::FakeCuda cuda_;
};

TEST_P(VariantsCompile, WithoutAWarningOrASpill) {
  const auto tmpl = runtime_->find_template(GetParam()).value();
  const auto targets = known({"sm_80", "sm_90a", "sm_100a", "sm_120a"});
  const auto bindings = variants::compiled_variants(*tmpl, targets);
  std::vector<Specialization> specializations;
  for (std::size_t at = 0; at < targets.size(); ++at)
    for (const Bindings& one : bindings[at])
      specializations.push_back(Specialization::make(tmpl, one, targets[at]).value());
  ASSERT_FALSE(specializations.empty());
  expect_clean(specializations);
}

// Their code is that of one of those above, but for instructions that the one behind has too.
TEST_P(VariantsCompile, ForArchitecturesBetween) {
  const auto tmpl = runtime_->find_template(GetParam()).value();
  std::vector<Specialization> specializations;
  for (const Target& target : known({"sm_86", "sm_89", "sm_103a", "sm_121a"})) {
    for (const Bindings& one : variants::few_variants(*tmpl, target))
      specializations.push_back(Specialization::make(tmpl, one, target).value());
  }
  expect_clean(specializations);
}

INSTANTIATE_TEST_SUITE_P(Templates, VariantsCompile,
                         ::testing::ValuesIn(variants::known_templates()),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(ExampleKernels, VariantsCompile, ::testing::ValuesIn(example_kernels()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace diecast
