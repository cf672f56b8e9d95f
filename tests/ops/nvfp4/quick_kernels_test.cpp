// Launches of the kernels that engines launch in every step go the quick way: their arguments and
// their grids are of the forms it knows.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/arguments.h>
#include <diecast/launch/kernel/launch_rule.h>
#include <diecast/ops/nvfp4/quantize_nvfp4_kernels.h>
#include <gtest/gtest.h>

#include "ops/fake_gpu.h"

namespace diecast {
namespace {

constexpr const char* kOfEveryStep[] = {
    "amax IN=bf16",
    "amax IN=bf16 COLS=4096 PER=row",
    "quantize_nvfp4 IN=bf16",
    "quantize_nvfp4 IN=bf16 ROWS=any",
    "quantize_nvfp4 IN=bf16 LAYOUT=s128x4",
    "quantize_nvfp4 IN=bf16 COLS=4096 LAYOUT=s8x4",
    "quantize_nvfp4_few IN=bf16",
    "quantize_nvfp4_few IN=bf16 LANES=2 THREADS=384",
    "quantize_nvfp4_few IN=bf16 LANES=1 BLOCKS=2 THREADS=896",
    "quantize_nvfp4_few IN=bf16 COLS=4096 LAYOUT=s128x4 LANES=1 THREADS=640",
    "quantize_nvfp4_few IN=bf16 COLS=4096 LAYOUT=s8x4 LANES=1",
    "quantize_nvfp4_amax_few IN=bf16 CLUSTER=8",
    "quantize_nvfp4_row_scaled IN=bf16 COLS=4096",
    "quantize_nvfp4_row_scaled IN=bf16 COLS=4096 LAYOUT=s128x4",
    "quantize_nvfp4_row_scaled_few IN=bf16 COLS=4096 CLUSTER=2",
    "quantize_nvfp4_row_scaled_few IN=bf16 COLS=2048 ROWS_AT_ONCE=4",
    "quantize_nvfp4_row_scaled_few IN=bf16 COLS=7168 CLUSTER=2 LAYOUT=s128x4",
    "quantize_mx IN=bf16",
    "quantize_mx IN=bf16 LAYOUT=s128x4",
    "zeros",
};

class QuickKernels : public testing::OnFakeGpu {
 protected:
  void expect_quick(const Specialization& one) {
    const LaunchSlots slots = LaunchSlots::make(one).value();
    EXPECT_TRUE(ArgumentCheck::make(one, slots).value().may_be_quick()) << one.spelling();
    EXPECT_TRUE(BoundLaunchRule::make(one, device_->properties(), 0, slots).value().may_be_quick())
        << one.spelling();
  }
};

TEST_F(QuickKernels, AreThoseOfEveryStep) {
  for (const char* const line : kOfEveryStep)
    expect_quick(runtime_->specialize(cat(line, " @ sm_90a")).value());
}

TEST_F(QuickKernels, AreAllThatServeFewRows) {
  std::size_t seen = 0;
  for (const auto layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (const std::int64_t cols : {1024, 2048, 4096, 5120, 7168, 16384, 28672, 65536}) {
      for (const bool row_scaled : {false, true}) {
        PreparedQuantizeNvfp4::Request request;
        request.cols = cols;
        request.out.layout = layout;
        request.out.row_scaled = row_scaled;
        const auto all = quantize_nvfp4_kernels(*runtime_, request, device_->properties()).value();
        for (const auto& few : all.few) {
          const auto tmpl = runtime_->find_template(few.kernel.name).value();
          const auto sm90 = Target::parse("sm_90a").value();
          expect_quick(Specialization::make(tmpl, few.kernel.bindings, sm90).value());
          ++seen;
        }
      }
    }
  }
  EXPECT_GT(seen, 150u);
}

}  // namespace
}  // namespace diecast
