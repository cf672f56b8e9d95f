// Builds that name their lines: what GPU code is told of them, and that checked tensors compile.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "compiled_kernel.h"
#include "launch/checked_kernels.h"

namespace diecast {
namespace {

Source source_for(const char* target, BuildKind build, const char* body = testing::kRightBody) {
  const auto tmpl = Template::parse("checked", testing::checked_kernel(body)).value();
  const auto one = Specialization::make(tmpl, {}, Target::parse(target).value()).value();
  return render(one, TemplateFiles::embedded(), build).value();
}

class BuildsByNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::nvrtc()) GTEST_SKIP() << testing::nvrtc().error().message();
    compiler_ = *testing::nvrtc();
  }
  std::shared_ptr<Compiler> compiler_;
};

TEST_F(BuildsByNvrtc, CheckedTensorsCompileForEveryKindOfTarget) {
  for (const char* target : {"sm_80", "sm_90a", "sm_120a"}) {
    const auto compiled =
        compiler_->compile(source_for(target, BuildKind::debug), Target::parse(target).value());
    ASSERT_TRUE(compiled) << compiled.error().message();
    EXPECT_EQ(compiled->log, "") << target;
  }
}

TEST_F(BuildsByNvrtc, WhatTakesPointersAloneIsToldTheWayOut) {
  const Target target = Target::parse("sm_90a").value();
  for (const char* body : testing::kForPointers) {
    EXPECT_TRUE(compiler_->compile(source_for("sm_90a", BuildKind::plain, body), target)) << body;
    const auto refused = compiler_->compile(source_for("sm_90a", BuildKind::debug, body), target);
    ASSERT_FALSE(refused) << body;
    EXPECT_EQ(refused.error().fix, testing::kForPointersFix) << refused.error().what;
  }
}

TEST_F(BuildsByNvrtc, EveryBuiltInTemplateHasADebugBuild) {
  const TemplateFiles files = TemplateFiles::embedded();
  const Target target = Target::parse("sm_90a").value();
  for (const std::string& name : files.template_names()) {
    const auto tmpl = Template::parse(name, *files.template_text(name), files).value();
    const auto space = tmpl->space(target).value();
    if (space.empty()) continue;
    const auto one = Specialization::make(tmpl, space.front(), target).value();
    const auto source = render(one, files, BuildKind::debug).value();
    const auto compiled = compiler_->compile(source, target);
    EXPECT_TRUE(compiled) << compiled.error().message();
  }
}

TEST_F(BuildsByNvrtc, LinesAreThoseOfTheTemplateFromWhateverFolder) {
  const Target target = Target::parse("sm_90a").value();
  const auto plain = compiler_->compile(source_for("sm_90a", BuildKind::plain), target).value();
  const auto lines = compiler_->compile(source_for("sm_90a", BuildKind::lines), target).value();
  const auto has = [](const Bytes& code, std::string_view text) {
    return std::string_view(reinterpret_cast<const char*>(code.data()), code.size()).find(text) !=
           std::string_view::npos;
  };
  EXPECT_FALSE(has(plain.payload, ".debug_line"));
  EXPECT_TRUE(has(lines.payload, ".debug_line"));
  EXPECT_EQ(lines.registers, plain.registers);
  const std::string here = std::filesystem::current_path();
  EXPECT_FALSE(has(lines.payload, here));
  std::filesystem::current_path("/tmp");
  const auto again = compiler_->compile(source_for("sm_90a", BuildKind::lines), target);
  std::filesystem::current_path(here);
  EXPECT_TRUE(again.value().payload == lines.payload);
}

}  // namespace
}  // namespace diecast
