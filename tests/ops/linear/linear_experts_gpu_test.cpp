// Experts on a GPU: a row has the bits that `linear` gives it with its expert's weight, in each
// form.
#include <diecast/diecast.h>
#include <diecast/ops/reference/packed_linear.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ops/device_buffer.h"
#include "ops/gpu_device_test.h"
#include "ops/linear/linear_case.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;

constexpr std::int64_t kExperts = 5, kRows = 200, kCols = 200, kDepth = 1056;
constexpr std::int64_t kRowBytes = kCols * 4;

class LinearExpertsOnGpu : public GpuDeviceTest {
 protected:
  void SetUp() override {
    GpuDeviceTest::SetUp();
    if (IsSkipped()) return;
    std::mt19937_64 random(11);
    for (std::int64_t i = 0; i < kExperts; ++i) {
      const auto one = variants::drawn_weight(Format::nvfp4, kCols, kDepth, random);
      const auto tiles = reference::pack_linear(one, Gated::none).bytes;
      tiles_.insert(tiles_.end(), tiles.begin(), tiles.end());
    }
    const variants::Numbers x(DType::bf16, kRows * kDepth, 1, random);
    x_ = std::make_unique<DeviceBuffer>(*device_, x.bytes.data(), x.bytes.size());
    packed_ = std::make_unique<DeviceBuffer>(*device_, tiles_.data(), tiles_.size());
    const std::vector<float> ones(kExperts, 1.0f);
    factors_ = std::make_unique<DeviceBuffer>(*device_, ones.data(), 4 * ones.size());
  }
  const float* factors() const { return reinterpret_cast<float*>(factors_->data_pointer()); }
  Tensor x(std::int64_t rows) const {  // the first ones
    return {.data = x_->data_pointer(), .dtype = DType::bf16, .shape = {rows, kDepth}};
  }
  // All rows of x under one expert's weight, by `linear`.
  std::vector<std::uint8_t> dense(std::int64_t expert, int split) {
    const auto size = static_cast<std::int64_t>(tiles_.size()) / kExperts;
    const DeviceBuffer out(*device_, kRows * kRowBytes);
    linear(*test_runtime(), x(kRows),
           {.shape = Shape{kCols, kDepth},
            .data = packed_->data_pointer() + expert * size,
            .bytes = size},
           factors(), {.data = out.data_pointer(), .shape = {kRows, kCols}},
           {.split = split, .device = device_})
        .value();
    return out.bytes();
  }
  // owner: the expert of each row, -1: none. As many of the first rows of x. Weights are in two
  // parts, and sums in as many as this.
  void expect_rows(RoutingForm form, const std::vector<std::int32_t>& routing,
                   const std::vector<std::int64_t>& owner, bool fast = false, int split = 2) {
    const DeviceBuffer of(*device_, routing.data(), 4 * routing.size());
    const auto rows = static_cast<std::int64_t>(owner.size());
    const DeviceBuffer out(*device_, static_cast<std::size_t>(rows * kRowBytes));
    linear_experts(*test_runtime(), x(rows),
                   {.shape = Shape{kExperts, kCols, kDepth},
                    .data = packed_->data_pointer(),
                    .bytes = static_cast<std::int64_t>(tiles_.size())},
                   factors(), {form, reinterpret_cast<std::int32_t*>(of.data_pointer())},
                   {.data = out.data_pointer(), .shape = {rows, kCols}},
                   {.split = 2, .fast = fast, .device = device_})
        .value();
    EXPECT_TRUE(out.guards_are_whole());
    const auto got = out.bytes();
    std::vector<std::vector<std::uint8_t>> want;
    for (std::int64_t expert = 0; expert < kExperts; ++expert) want.push_back(dense(expert, split));
    const std::vector<std::uint8_t> poison(kRowBytes, DeviceBuffer::kPoison);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t expert = owner[static_cast<std::size_t>(row)];
      const auto as = expert < 0 ? poison.begin()
                                 : want[static_cast<std::size_t>(expert)].begin() + row * kRowBytes;
      EXPECT_TRUE(std::equal(as, as + kRowBytes, got.begin() + row * kRowBytes)) << row;
    }
  }

  std::vector<std::uint8_t> tiles_;
  std::unique_ptr<DeviceBuffer> x_, packed_, factors_;
};

TEST_F(LinearExpertsOnGpu, ARowHasTheBitsOfTheDenseRowInEachForm) {
  std::mt19937_64 random(3);
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> by_id, by_offset, by_count;
  for (std::int64_t row = 0; row < kRows; ++row) {
    ids.push_back(random() % 2 != 0 ? 1 : static_cast<std::int32_t>(random() % 8) - 2);
    by_id.push_back(ids.back() >= 0 && ids.back() < kExperts ? ids.back() : -1);
    by_offset.push_back(row < 3 ? -1 : row < 103 ? 0 : row < 104 ? 2 : row < 190 ? 4 : -1);
    by_count.push_back(row % 40 < 9 * (row / 40) ? row / 40 : -1);
  }
  expect_rows(RoutingForm::indexed, ids, by_id);
  expect_rows(RoutingForm::contiguous, {3, 103, 103, 104, 104, 190}, by_offset);
  expect_rows(RoutingForm::masked, {0, 9, 18, 27, 36}, by_count);
}

// Of Hopper: 40 rows of an expert are summed in one part, 7 in all, and ids too.
TEST_F(LinearExpertsOnGpu, IfFastManyRowsHaveTheBitsOfOnePart) {
  if (device_->properties().cc != 90) GTEST_SKIP() << "kernels in one part are of Hopper alone";
  std::vector<std::int64_t> many, few, one(kRows, 3);
  for (std::int64_t row = 0; row < kRows; ++row) many.push_back(row < 103 ? 0 : row < 190 ? 4 : -1);
  for (std::int64_t row = 0; row < 7 * kExperts; ++row) few.push_back(row < 33 ? 4 : -1);
  expect_rows(RoutingForm::contiguous, {0, 103, 103, 103, 103, 190}, many, true, 1);
  expect_rows(RoutingForm::contiguous, {0, 0, 0, 0, 0, 33}, few, true, 2);
  expect_rows(RoutingForm::indexed, std::vector<std::int32_t>(kRows, 3), one, true, 2);
}

// Of fewer rows an expert another kernel makes them.
TEST_F(LinearExpertsOnGpu, ARowHasTheSameBitsAmongFewRowsOfItsExpert) {
  std::vector<std::int64_t> by_offset, by_count;
  for (std::int64_t row = 0; row < 7 * kExperts; ++row) {
    by_offset.push_back(row < 9 ? 0 : row < 10 ? 2 : row < 33 ? 4 : -1);
    by_count.push_back(row % 7 < 2 * (row / 7) ? row / 7 : -1);
  }
  expect_rows(RoutingForm::contiguous, {0, 9, 9, 10, 10, 33}, by_offset);
  expect_rows(RoutingForm::masked, {0, 2, 4, 6, 8}, by_count);
  expect_rows(RoutingForm::indexed, {4, 0, -1, 4}, {4, 0, -1, 4});
  expect_rows(RoutingForm::indexed, {1, 4, 1, -1, 4, 4, 9, 1, 1, 0},
              {1, 4, 1, -1, 4, 4, -1, 1, 1, 0});
}

}  // namespace
}  // namespace diecast
