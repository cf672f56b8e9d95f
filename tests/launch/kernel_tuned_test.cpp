// Launch tunes by the sizes of a launch: nothing is compiled for them, and nothing is looked up but
// a few numbers.
#include <diecast/launch/kernel.h>
#include <gtest/gtest.h>

#include "sample_kernel.h"

namespace diecast {
namespace {

constexpr const char* kText = R"(/* diecast
tune int waves {1, 4, 16} = 4
size rows
size cols
arg x in f32 [rows, cols]
arg rows
arg cols
launch grid(sm_count * waves) block(32)
target sm_80+
*/
DIECAST_KERNEL {}
)";

class TunedKernel : public ::testing::Test {
 protected:
  Result<std::shared_ptr<Kernel>> kernel(const std::vector<TunedLaunch>& tuned) {
    const auto one = testing::specialize("k", kText);
    return Kernel::make(one, testing::artifact_of(one), cuda_.device(), tuned);
  }
  static TunedLaunch at(std::int64_t rows, std::int64_t cols, int waves) {
    return {{{"rows", rows}, {"cols", cols}}, Bindings().set("waves", waves)};
  }
  static int waves(const Kernel& kernel, std::int64_t rows, std::int64_t cols,
                   const Bindings& tunes = {}) {
    const KernelArgument arguments[] = {
        KernelArgument::tensor(DType::f32, testing::address(0x1000)), KernelArgument::size(rows),
        KernelArgument::size(cols)};
    return static_cast<int>(kernel.shape(arguments, tunes).value().grid[0]) / 132;
  }
  testing::FakeCuda cuda_;
};

TEST_F(TunedKernel, LaunchesWithTheTunesOfTheNearestSizes) {
  const auto k = kernel({at(1, 4096, 1), at(8192, 4096, 16)}).value();
  EXPECT_EQ(waves(*k, 1, 4096), 1);
  EXPECT_EQ(waves(*k, 0, 4096), 1);
  EXPECT_EQ(waves(*k, 80, 4096), 1);  // less than half of the doublings between them
  EXPECT_EQ(waves(*k, 100, 4096), 16);
  EXPECT_EQ(waves(*k, INT64_MAX, 4096), 16);
  EXPECT_EQ(waves(*k, 1, 1), 1);
  EXPECT_EQ(waves(*k, 1, 4096, Bindings().set("waves", 4)), 4);  // given
}

TEST_F(TunedKernel, TellsSizesApartInEveryDimension) {
  const auto k = kernel({at(64, 64, 1), at(64, 4096, 4), at(4096, 64, 16)}).value();
  EXPECT_EQ(waves(*k, 60, 100), 1);
  EXPECT_EQ(waves(*k, 100, 3000), 4);
  EXPECT_EQ(waves(*k, 3000, 100), 16);
}

TEST_F(TunedKernel, WithoutAnyHasTheSpecializationsOwn) {
  EXPECT_EQ(waves(*kernel({}).value(), 1, 1), 4);
}

TEST_F(TunedKernel, RefusesTunesThatTheTemplateDoesNotAllow) {
  const auto refused = kernel({at(1, 1, 5)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::value_not_allowed);
}

}  // namespace
}  // namespace diecast
