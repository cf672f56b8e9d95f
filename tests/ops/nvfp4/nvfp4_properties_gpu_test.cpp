// quantize_nvfp4's edges and properties on a GPU.

#include "ops/any_amax.h"
#include "ops/gpu_device_test.h"
#include "ops/nvfp4_properties.h"

namespace diecast::testing {
namespace {

class Nvfp4OnGpu : public GpuDeviceTest {};

TEST_F(Nvfp4OnGpu, EdgesAreAsTheReferenceHasThem) { expect_edges_as_the_reference(device_); }
TEST_F(Nvfp4OnGpu, TransformsAreAsTheReferenceHasThem) {
  expect_transforms_as_the_reference(device_);
}
TEST_F(Nvfp4OnGpu, EveryPatternIsAsTheReferenceHasIt) {
  expect_every_pattern_as_the_reference(device_);
}
// Few blocks of 16, which neighbours share, some that have a thread each, and many.
TEST_F(Nvfp4OnGpu, UnderAnyAmaxIsAsTheReferenceHasIt) {
  for (const std::int64_t rows : {8, 192, 1536}) expect_any_amax_as_the_reference(device_, rows);
}
TEST_F(Nvfp4OnGpu, NearTiesAreAsTheReferenceHasThem) { expect_near_ties_as_the_reference(device_); }
TEST_F(Nvfp4OnGpu, RowsAreTheSameOneByOne) { expect_rows_one_by_one(device_); }
// What is small has kernels of its own.
TEST_F(Nvfp4OnGpu, ASmallMatrixIsAsTheBeginningOfALargeOne) {
  for (const bool row_scaled : {false, true}) {
    HostMatrix large = random_matrix(DType::bf16, 16384, 2048, 13);
    HostMatrix small(DType::bf16, 33, large.cols);
    small.fill([&](std::int64_t row, std::int64_t col) { return large.at(row, col); });
    const std::vector<float> given = row_scaled ? std::vector<float>{} : std::vector<float>{2.5f};
    const Quantized all = quantize(device_, large, {}, given, row_scaled);
    const Quantized part = quantize(device_, small, {}, given, row_scaled);
    const auto begins = [](const auto& whole, const auto& with) {
      return whole.size() >= with.size() && std::equal(with.begin(), with.end(), whole.begin());
    };
    EXPECT_TRUE(begins(all.codes, part.codes));
    EXPECT_TRUE(begins(all.scales, part.scales));
    EXPECT_TRUE(begins(all.amax, part.amax));
  }
}
TEST_F(Nvfp4OnGpu, APowerOfTwoChangesTheAmaxAlone) { expect_powers_of_two_change_nothing(device_); }
TEST_F(Nvfp4OnGpu, EqualAmaxesOfRowsAreOneAmax) { expect_equal_amaxes_to_be_one(device_); }
TEST_F(Nvfp4OnGpu, LayoutsMoveBytesAlone) {
  expect_layouts_to_move_bytes_alone(device_,
                                     {{1, 16}, {0, 64}, {130, 80}, {9, 17}, {128, 64}, {5, 0}});
}
// A thread takes eight rows then; the last tiles are not full, and the last row of blocks is cut.
TEST_F(Nvfp4OnGpu, LayoutsMoveBytesAloneWhereBlocksAreMoreThanThreads) {
  expect_layouts_to_move_bytes_alone(device_, {{16401, 4217}});
}

}  // namespace
}  // namespace diecast::testing
