// Casts of shards on a GPU equal the full cast to the bit: ways to cut and to begin inside a byte,
// every layout, and one weight of more than 2^31 elements.
#include <gtest/gtest.h>

#include "ops/gpu_device_test.h"
#include "ops/weight_group.h"
#include "ops/weight_truths.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;
using weights_test::Bounds;
using weights_test::cast_on_ranks;
using weights_test::GroupCast;
using weights_test::Model;
using weights_test::uneven_bounds;

class ShardedWeightsOnGpu : public GpuDeviceTest {};

TEST_F(ShardedWeightsOnGpu, OfEveryBeginAndLength) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
  Bounds bounds;
  const std::pair<std::int64_t, std::int64_t> kinds[] = {{24, 48}, {13, 37}, {34, 16}};
  for (const auto& [rows, cols] : kinds) {
    for (const std::int64_t begin : {0, 1, 2, 15, 16, 17, 255, 257}) {
      for (const std::int64_t length : {0, 1, 2, 3, 15, 16, 17, 31, 33, 100000}) {
        shapes.emplace_back(rows, cols);
        bounds.push_back({0, begin, std::min(begin + length, rows * cols), rows * cols});
      }
    }
  }
  for (const DType master : {DType::f32, DType::bf16}) {
    for (const bool gather : {false, true}) {
      const Model model = Model::random(shapes, 7, true, master);
      EXPECT_EQ(cast_on_ranks(*runtime_, device_, model, bounds, {gather}), "")
          << dtype_name(master) << " " << gather;
    }
  }
}

TEST_F(ShardedWeightsOnGpu, OfLargerMatricesInEveryLayout) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {256, 1024}, {200, 1040}, {33, 2064}, {1, 4096}, {130, 20}, {257, 40}};
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    Model model = Model::random(shapes, 11, true);
    model.layout = layout;
    GroupCast how;
    how.post = true;
    EXPECT_EQ(cast_on_ranks(*runtime_, device_, model, uneven_bounds(model), how), "")
        << word(layout);
  }
}

TEST_F(ShardedWeightsOnGpu, OfEverySixteenBitValue) {
  EXPECT_EQ(weights_test::cast_every_sixteen_bit_value(*runtime_, device_), "");
}

TEST_F(ShardedWeightsOnGpu, OfEverySplitOfSmallMatrices) {
  EXPECT_EQ(weights_test::cast_every_split(*runtime_, device_), "");
}

TEST_F(ShardedWeightsOnGpu, OfPaddedLinearScales) {
  EXPECT_EQ(weights_test::cast_with_padded_scales(*runtime_, device_), "");
}

TEST_F(ShardedWeightsOnGpu, OfAnythingDrawnAtRandom) {
  EXPECT_EQ(weights_test::cast_at_random(*runtime_, device_), "");
}

TEST_F(ShardedWeightsOnGpu, OfNothingFiniteOrNothingAtAll) {
  EXPECT_EQ(weights_test::cast_nothing_finite(*runtime_, device_), "");
}

TEST_F(ShardedWeightsOnGpu, TenThousandSmallOnes) {
  EXPECT_EQ(weights_test::cast_ten_thousand(*runtime_, device_), "");
}

TEST_F(ShardedWeightsOnGpu, BeginBehind2To31Elements) {
  EXPECT_EQ(weights_test::cast_behind_2_to_31(*runtime_, device_), "");
}

TEST_F(ShardedWeightsOnGpu, FiftyStepsOfATrainingLoop) {
  Model model = Model::random({{48, 64}, {31, 17}, {64, 33}}, 21, false);
  const Bounds bounds = {{0, 1001, 1001, 3072}, {0, 5, 264, 527}, {0, 704, 1409, 2112}};
  EXPECT_EQ(weights_test::train_on_ranks(*runtime_, device_, model, bounds, 50), "");
}

// The largest value stands in the last 16 rows, so they alone make the weight's global scale, and
// quantizing just them is what their part of the whole must be.
TEST_F(ShardedWeightsOnGpu, OfMoreElementsThanThirtyOneBits) {
  constexpr std::int64_t kRows = 65552, kCols = 32784, kElements = kRows * kCols;
  constexpr std::int64_t kLast = 16 * kCols;
  if (device_->properties().memory_bytes < std::int64_t{16} << 30) {
    GTEST_SKIP() << "16 GiB of device memory are needed";
  }
  Model last = Model::random({{16, kCols}}, 3, false, DType::bf16);
  last.weights[0].master[100] = 1e6f;
  std::vector<std::uint16_t> rows(static_cast<std::size_t>(kLast));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = reference::encode_bf16(last.weights[0].master[i]);
  }
  DeviceBuffer master(*device_, kElements * 2);
  device_->fill(master.data_pointer(), 0x3C, kElements * 2, {}).value();
  device_
      ->copy_to_device(master.data_pointer() + (kElements - kLast) * 2, rows.data(), kLast * 2, {})
      .value();
  QuantizedTensor weight;
  weight.shape = {kRows, kCols};
  weight.type.square = true;
  weight.rowwise = weight.rowwise_sizes().value();
  DeviceBuffer data(*device_, static_cast<std::size_t>(weight.rowwise.data_bytes));
  DeviceBuffer scale(*device_, static_cast<std::size_t>(weight.rowwise.scale_bytes));
  DeviceBuffer amax(*device_, 4);
  weight.rowwise.data = data.data_pointer();
  weight.rowwise.scale = scale.data_pointer();
  weight.rowwise.amax = reinterpret_cast<float*>(amax.data_pointer());
  const Tensor shard{master.data_pointer(), DType::bf16, Shape{kElements}};
  const std::int64_t start = 0;
  MasterCastOptions options;
  options.device = device_;
  cast_master_weights_to_nvfp4(*runtime_, {&weight, 1}, {&shard, 1}, {&start, 1}, nullptr, options)
      .value();
  const reference::Nvfp4 want = last.full_cast(0);
  std::vector<std::uint8_t> got(want.codes.size());
  const std::int64_t code_bytes = weight.rowwise.data_bytes;
  device_
      ->copy_to_host(got.data(),
                     data.data_pointer() + code_bytes - static_cast<std::int64_t>(got.size()),
                     got.size(), {})
      .value();
  device_->synchronize({}).value();
  EXPECT_EQ(got, want.codes);
}

}  // namespace
}  // namespace diecast
