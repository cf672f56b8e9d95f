// The machine code itself: from sm_100a on E2M1 codes are made by the hardware's conversion, before
// by integer arithmetic.
#include <diecast/compile/disassembler.h>
#include <diecast/diecast.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/covering.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

// Every way from elements to E2M1 codes.
constexpr const char* kToE2m1[] = {"quantize_nvfp4 IN=bf16",
                                   "quantize_nvfp4 IN=f16 PROFILE=pr546",
                                   "quantize_nvfp4 IN=f32 PROFILE=modelopt",
                                   "quantize_nvfp4 IN=bf16 PROFILE=torchao",
                                   "quantize_nvfp4 IN=bf16 FOUR_OVER_SIX=mae",
                                   "quantize_nvfp4_row_scaled IN=bf16",
                                   "quantize_nvfp4_tiles IN=bf16",
                                   "quantize_nvfp4_tiles IN=bf16 BLOCK_ROWS=16 PROFILE=modelopt",
                                   "quantize_mx IN=bf16 FORMAT=mxfp4 PROFILE=torchao",
                                   "quantize_mx_tiles IN=bf16 FORMAT=mxfp4 PROFILE=torchao",
                                   "quantize_nvfp4 IN=bf16 PROFILE=flashinfer_fast GLOBAL=encode",
                                   "quantize_nvfp4_tiles IN=e4m3 GROUPED=1",
                                   "partial_cast IN=f32"};

class Disassembly : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!program_) GTEST_SKIP() << program_.error().message();
    const auto compiler = runtime_->compiler(target_);
    if (!compiler) GTEST_SKIP() << compiler.error().message();
    if (const auto accepted = (*compiler)->accepts(target_); !accepted) {
      GTEST_SKIP() << accepted.error().message();
    }
  }

  bool is_for_target(std::string_view spelling) {
    const auto tmpl = runtime_->find_template(spelling.substr(0, spelling.find(' '))).value();
    return tmpl->supports(target_);
  }

  // Those that are for the target.
  std::vector<Specialization> specialized(std::span<const char* const> spellings) {
    std::vector<Specialization> all;
    for (const char* spelling : spellings) {
      if (!is_for_target(spelling)) continue;
      all.push_back(runtime_->specialize(std::string(spelling) + " @ " + GetParam()).value());
    }
    return all;
  }

  // The machine code of each, as text.
  template <class Check>
  void each_text(const std::vector<Specialization>& all, const Check& check) {
    for (const WarmOutcome& outcome : warm(*runtime_, all)) {
      ASSERT_FALSE(outcome.error) << outcome.error->message();
      const Artifact& artifact = *outcome.resolved->artifact;
      const auto text = disassemble(*program_, artifact);
      if (!text) GTEST_SKIP() << text.error().what;
      SCOPED_TRACE(artifact.spelling);
      ASSERT_NO_FATAL_FAILURE(check(*text));
    }
  }

  const Result<std::string> program_ = find_disassembler();
  const std::shared_ptr<Runtime> runtime_ = test_runtime();
  const Target target_ = Target::parse(GetParam()).value();
};

TEST_P(Disassembly, ShowsTheHardwareConversionToE2m1FromSm100aOn) {
  std::span<const char* const> ways = kToE2m1;
  if (target_.cc % 10 != 0) ways = ways.first(3);  // a sibling of a target that has them all
  each_text(specialized(ways), [&](const std::string& text) {
    ASSERT_NE(text.find("EXIT"), std::string::npos);  // it is machine code
    EXPECT_EQ(text.find("F2FP.SATFINITE.E2M1.F32") != std::string::npos, target_.cc >= 100);
  });
}

// Of kernels that are launched while what came before ends, the variants whose ways of waiting
// differ. A dependent template that is not here has one variant disassembled.
constexpr const char* kDependent[] = {"amax IN=bf16",
                                      "amax IN=f32 ROWS=any PER=row",
                                      "dequantize_mx OUT=bf16",
                                      "dequantize_nvfp4 OUT=bf16",
                                      "fp4_fake_quant_block IN=bf16",
                                      "linear_experts_few IN=bf16 OUT=bf16 FORM=indexed",
                                      ("linear_experts_few IN=bf16 OUT=bf16 FORM=masked SPLIT=2 "
                                       "HAS_EXPERT_MAP=0 HAS_UNEXPECTED=0"),
                                      "linear_experts_wgmma IN=bf16 OUT=bf16 FORM=masked",
                                      "linear_few IN=bf16 OUT=bf16",
                                      "linear_wgmma IN=bf16 OUT=bf16",
                                      "quantize_mx IN=bf16",
                                      "quantize_mx IN=f32 ROWS=any LAYOUT=s128x4",
                                      "quantize_nvfp4 IN=bf16",
                                      "quantize_nvfp4 IN=f32 ROWS=any GLOBAL=none",
                                      "quantize_nvfp4 IN=bf16 STOCHASTIC=1 LAYOUT=s128x4",
                                      "quantize_nvfp4 IN=f16 PROFILE=modelopt BLOCK_AMAX=1",
                                      "quantize_nvfp4_amax_few IN=f32 CLUSTER=8",
                                      "quantize_nvfp4_row_scaled IN=bf16 COLS=4096",
                                      "quantize_nvfp4_row_scaled IN=e4m3",
                                      "quantize_nvfp4_row_scaled_few IN=bf16 COLS=1024",
                                      "quantize_nvfp4_row_scaled_few IN=f32 COLS=8192 CLUSTER=8",
                                      "quantize_nvfp4_row_scaled_few IN=bf16 COLS=8192 BLOCKS=2",
                                      "quantize_nvfp4_few IN=bf16",
                                      "quantize_nvfp4_few IN=bf16 LANES=1 BLOCKS=2",
                                      "static_blockwise_fp4_fake_quant IN=bf16 OUT=bf16"};

// They read what the kernel before writes, and write what it reads, after the wait.
TEST_P(Disassembly, ShowsNoAccessBeforeADependentLaunchHasWaited) {
  auto all = specialized(kDependent);
  for (const std::string& name : runtime_->template_names()) {
    const auto tmpl = runtime_->find_template(name).value();
    const bool named = std::ranges::any_of(kDependent, [&](std::string_view spelling) {
      return spelling.substr(0, spelling.find(' ')) == name;
    });
    EXPECT_TRUE(tmpl->launch().dependent || !named) << name;
    if (!tmpl->launch().dependent || named || !tmpl->supports(target_)) continue;
    for (const Bindings& one : variants::few_variants(*tmpl, target_))
      all.push_back(runtime_->specialize(name, one, target_).value());
  }
  each_text(all, [](const std::string& text) {
    std::size_t first = std::string::npos;
    for (const char* access : {" LDG", " STG", " RED", " ATOM"})
      first = std::min(first, text.find(access));
    ASSERT_NE(first, std::string::npos);
    EXPECT_LT(text.find("ACQBULK"), first);
  });
}

INSTANTIATE_TEST_SUITE_P(Targets, Disassembly,
                         ::testing::Values("sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace diecast
