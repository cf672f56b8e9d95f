// Which of its kernels a prepared row-scaled quantize_nvfp4 takes, by the number of elements and by
// who counts the rows.
#include <gtest/gtest.h>

#include "ops/fake_gpu.h"

namespace diecast {
namespace {

class RowScaledKernels : public testing::OnFakeGpu {
 protected:
  static constexpr std::int64_t kCols = 4096, kFew = 8 * kCols, kMany = 65536 * kCols;

  PreparedQuantizeNvfp4 prepared(ScaleLayout layout, Profile profile = Profile::te) {
    const PreparedQuantizeNvfp4::Request request{
        .cols = kCols, .out = {.layout = layout, .profile = profile, .row_scaled = true}};
    return PreparedQuantizeNvfp4::prepare(*runtime_, device_, request).value();
  }
  static const std::string& name(const Kernel& kernel) {
    return kernel.specialization().tmpl().name();
  }
  static std::int64_t threads(const Kernel& kernel) {
    return kernel.specialization().number("THREADS");
  }
};

TEST_F(RowScaledKernels, FewRowsAreSpreadWhereTheHostCountsThem) {
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    const PreparedQuantizeNvfp4 op = prepared(layout);
    EXPECT_EQ(name(op.kernel(kFew)), "quantize_nvfp4_row_scaled_few");
    EXPECT_EQ(name(op.kernel(kMany)), "quantize_nvfp4_row_scaled");
    EXPECT_EQ(name(op.kernel(kFew, true)), "quantize_nvfp4_row_scaled");
    EXPECT_GT(threads(op.kernel(kFew, true)), threads(op.kernel(kMany)));
    EXPECT_EQ(&op.kernel(kMany, true), &op.kernel(kMany));
  }
}

TEST_F(RowScaledKernels, OtherProfilesHaveTheSameWhoeverCounts) {
  const PreparedQuantizeNvfp4 op = prepared(ScaleLayout::linear, Profile::torchao);
  EXPECT_EQ(&op.kernel(kFew, true), &op.kernel(kFew));
  EXPECT_GT(threads(op.kernel(kFew)), threads(op.kernel(kMany)));
  EXPECT_EQ(&op.kernel(kMany, true), &op.kernel(kMany));
}

// However long a row is said to be: no tensor has it, but its op is prepared or refused.
TEST_F(RowScaledKernels, OfTheLongestRowsHaveTheMostThreads) {
  for (const std::int64_t cols : {(std::int64_t{1} << 31) - 16, std::int64_t{1} << 31,
                                  (std::int64_t{1} << 62) + 16, INT64_MAX / 16 * 16}) {
    const auto op = PreparedQuantizeNvfp4::prepare(*runtime_, device_,
                                                   {.cols = cols, .out = {.row_scaled = true}});
    ASSERT_TRUE(op) << op.error().message();
    EXPECT_EQ(threads(op->kernel(cols)), 512) << cols;
  }
}

}  // namespace
}  // namespace diecast
