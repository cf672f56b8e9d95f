// The functions of diecast/device/math compile for GPUs, without a warning or a spilled register.
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include "ops/test_runtime.h"

namespace diecast::math_test {
namespace {

TEST(MathCompiles, WithoutAWarningOrASpill) {
  const auto runtime = test_runtime_with("math/functions.cu");
  const auto compiler = runtime->compiler(Target::parse("sm_80").value());
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  for (const char* spelling :
       {"T=f32 FAST=0 @ sm_80", "T=f16 FAST=1 @ sm_80", "T=bf16 FAST=0 @ sm_90a",
        "T=f32 FAST=1 @ sm_90a", "T=f32 FAST=0 @ sm_100a", "T=f32 FAST=0 @ sm_120a",
        "T=f32 GIVES=sum @ sm_90a", "T=f32 GIVES=worst @ sm_90a"}) {
    const auto one = runtime->specialize(std::string("functions ") + spelling).value();
    const auto resolved = runtime->resolve(one);
    ASSERT_TRUE(resolved) << spelling << ": " << resolved.error().message();
    EXPECT_EQ(resolved->artifact->log, "") << spelling;
    EXPECT_EQ(resolved->artifact->spill_bytes, 0) << spelling;
  }
}

TEST(MathCompiles, ToWholeNumbers) {
  const auto runtime = test_runtime_with("math/whole.cu");
  const auto compiler = runtime->compiler(Target::parse("sm_80").value());
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  for (const char* spelling : {"T=f32 @ sm_80", "T=bf16 @ sm_90a", "T=f16 @ sm_120a"}) {
    const auto one = runtime->specialize(std::string("whole ") + spelling).value();
    const auto resolved = runtime->resolve(one);
    ASSERT_TRUE(resolved) << spelling << ": " << resolved.error().message();
    EXPECT_EQ(resolved->artifact->log, "") << spelling;
  }
}

// What the bench times.
TEST(MathCompiles, BesideCudasOwn) {
  const auto runtime = test_runtime_with("../bench/patterns/elementwise.cu");
  const auto compiler = runtime->compiler(Target::parse("sm_90a").value());
  if (!compiler) GTEST_SKIP() << compiler.error().message();
  for (const char* function : {"rsqrt", "gelu", "pow"}) {
    for (const char* by : {"math", "cuda", "fast"}) {
      const std::string spelling = std::string("F=") + function + " BY=" + by + " @ sm_90a";
      const auto one = runtime->specialize("elementwise " + spelling).value();
      const auto resolved = runtime->resolve(one);
      ASSERT_TRUE(resolved) << spelling << ": " << resolved.error().message();
      EXPECT_EQ(resolved->artifact->log, "") << spelling;
    }
  }
}

}  // namespace
}  // namespace diecast::math_test
