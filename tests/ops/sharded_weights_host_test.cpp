// Casts of shards on the host equal the full cast to the bit: every way to cut, every way to begin
// inside a byte, hostile values; and nothing but the owned halves of bytes is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ops/device_buffer.h"
#include "ops/test_runtime.h"
#include "ops/weight_group.h"

namespace diecast {
namespace {

using weights_test::Bounds;
using weights_test::GroupCast;
using weights_test::Model;

class ShardedWeights : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_host_device({});
    if (!opened) GTEST_SKIP() << opened.error().message();
    device = *opened;
  }
  std::string cast(const Model& model, const Bounds& bounds, GroupCast how = {}) {
    return weights_test::cast_on_ranks(*test_runtime(), device, model, bounds, how);
  }
  std::shared_ptr<Device> device;
};

// Every way to cut `elements` into `ranks` shards, one behind another.
Bounds every_split(std::int64_t elements, int ranks) {
  Bounds all;
  std::vector<std::int64_t> bounds(static_cast<std::size_t>(ranks) + 1, 0);
  bounds.back() = elements;
  const auto cut = [&](auto&& self, std::size_t at) -> void {
    if (at + 1 == bounds.size()) return all.push_back(bounds);
    for (bounds[at] = bounds[at - 1]; bounds[at] <= elements; ++bounds[at]) self(self, at + 1);
    bounds[at] = elements;
  };
  cut(cut, 1);
  return all;
}

TEST_F(ShardedWeights, OfEverySplitOfSmallMatrices) {
  const struct {
    std::int64_t rows, cols;
    int ranks;
  } cases[] = {{3, 7, 1},  {5, 7, 2}, {17, 17, 2}, {4, 9, 3},
               {2, 16, 3}, {3, 4, 4}, {3, 3, 5},   {2, 4, 5}};
  for (const auto& one : cases) {
    const Bounds bounds = every_split(one.rows * one.cols, one.ranks);
    const Model model = Model::random({bounds.size(), {one.rows, one.cols}}, 1, false);
    ASSERT_EQ(cast(model, bounds), "") << one.rows << "x" << one.cols << " in " << one.ranks;
  }
}

TEST_F(ShardedWeights, OfEveryBeginAndLength) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
  Bounds bounds;
  const std::pair<std::int64_t, std::int64_t> kinds[] = {{24, 48}, {13, 37}, {34, 16}, {5, 130}};
  for (const auto& [rows, cols] : kinds) {
    const std::int64_t elements = rows * cols;
    for (const std::int64_t begin : {0, 1, 2, 15, 16, 17, 255, 257}) {
      for (const std::int64_t length : {0, 1, 2, 3, 15, 16, 17, 31, 33, 100000}) {
        shapes.emplace_back(rows, cols);
        bounds.push_back({0, begin, std::min(begin + length, elements), elements});
      }
    }
  }
  const struct {
    DType master, model;
  } types[] = {{DType::f32, DType::bf16},
               {DType::bf16, DType::bf16},
               {DType::f32, DType::f16},
               {DType::f32, DType::f32}};
  for (const auto& [master, type] : types) {
    Model model = Model::random(shapes, 7, true, master);
    model.model = type;
    GroupCast apart;
    apart.gather = false;
    ASSERT_EQ(cast(model, bounds, apart), "") << dtype_name(master) << " to " << dtype_name(type);
    ASSERT_EQ(cast(model, bounds), "") << dtype_name(master) << " to " << dtype_name(type);
  }
}

TEST_F(ShardedWeights, OfManyTilesInVectorsAndInEveryLayout) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {64, 128}, {200, 1040}, {33, 2064}, {16, 16}, {1, 4096}, {130, 20}, {257, 40}};
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::s128x4, ScaleLayout::s8x4}) {
    for (const DType master : {DType::f32, DType::bf16}) {
      Model model = Model::random(shapes, 11, true, master);
      model.layout = layout;
      Bounds bounds;
      for (const auto& [rows, cols] : shapes) {
        const std::int64_t elements = rows * cols, third = elements / 3 / 16 * 16;
        bounds.push_back({0, third, third, 2 * third + cols % 7, elements});
      }
      GroupCast how;
      how.post = true;
      ASSERT_EQ(cast(model, bounds, how), "") << layout_name(layout) << " " << dtype_name(master);
    }
  }
}

// Any number of scale columns, padded to 4n.
TEST_F(ShardedWeights, OfPaddedLinearScales) {
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {{130, 20}, {1, 1}, {16, 4112}};
  for (std::int64_t cols = 16; cols <= 144; cols += 16) shapes.emplace_back(40 + cols, cols - 3);
  Model model = Model::random(shapes, 13, true);
  model.padded_scales = true;
  Bounds bounds;
  for (const auto& [rows, cols] : shapes) bounds.push_back({0, rows * cols / 3, rows * cols});
  GroupCast how;
  how.post = true;
  EXPECT_EQ(cast(model, bounds, how), "");
}

TEST_F(ShardedWeights, OfRanksThatSpeakThroughCallbacks) {
  const Model model = Model::random({{24, 48}, {13, 37}}, 17, true);
  GroupCast how;
  how.post = true;
  how.callbacks = true;
  EXPECT_EQ(cast(model, {{0, 301, 301, 1152}, {0, 7, 246, 481}}, how), "");
}

// Only what a shard touches is there; the weight it belongs to would take 1 GiB.
TEST_F(ShardedWeights, BeginBehind2To31Elements) {
  constexpr std::int64_t kRows = 65552, kCols = 32784, kElements = kRows * kCols;
  constexpr std::int64_t kBegin = kElements - 16 * kCols + 1, kCount = kElements - kBegin;
  static_assert(kBegin > std::int64_t{1} << 31 && kBegin % 2 == 1);
  Model last = Model::random({{16, kCols}}, 3, false);
  last.weights[0].master[0] = 0.0f;  // is not of the shard
  const ShardStorage storage = shard_storage(Format::nvfp4, kRows, kCols, {kBegin, kElements});
  using variants::DeviceBuffer;
  QuantizedTensor weight;
  weight.shape = {kRows, kCols};
  weight.block_rows = 16;
  weight.rowwise = weight.rowwise_sizes().value();
  const DeviceBuffer master(*device, last.weights[0].master.data() + 1, kCount * sizeof(float)),
      codes(*device, static_cast<std::size_t>(storage.touched.end - storage.touched.begin)),
      scale(*device, static_cast<std::size_t>(weight.rowwise.scale_bytes)), amax(*device, 4);
  weight.rowwise.scale = scale.data_pointer();
  weight.rowwise.amax = reinterpret_cast<float*>(amax.data_pointer());
  void* const fragment = codes.data_pointer();
  const Tensor shard{master.data_pointer(), DType::f32, Shape{kCount}};
  MasterCastOptions options;
  options.device = device;
  options.gather = false;
  options.fragments = {&fragment, 1};
  cast_master_weights_to_nvfp4(*test_runtime(), {&weight, 1}, {&shard, 1}, {&kBegin, 1}, nullptr,
                               options)
      .value();
  const reference::Nvfp4 want = last.full_cast(0);
  auto got = codes.bytes();
  EXPECT_EQ(got[0] & 0x0F, DeviceBuffer::kPoison & 0x0F);
  got[0] = static_cast<std::uint8_t>((got[0] & 0xF0) | (want.codes[0] & 0x0F));
  EXPECT_EQ(got, want.codes);
  EXPECT_TRUE(codes.guards_are_whole());
  const auto scales = scale.bytes();
  EXPECT_TRUE(std::equal(want.scales.rbegin(), want.scales.rend(), scales.rbegin()));
  const auto begun = scales.end() - static_cast<std::ptrdiff_t>(want.scales.size());
  EXPECT_EQ(std::count(scales.begin(), begun, 0), begun - scales.begin());
}

// A weight without elements needs no buffers, and the others are cast as without it.
TEST_F(ShardedWeights, BesideOnesWithoutElementsOrBuffers) {
  const Model model = Model::random({{0, 20}, {18, 20}, {20, 0}}, 3, true);
  const Bounds bounds = {{0, 0, 0}, {0, 181, 360}, {0, 0, 0}};
  std::vector<weights_test::RankWeights> ranks;
  for (int r = 0; r < 2; ++r) ranks.emplace_back(device, model, bounds, r);
  const auto group = thread_ranks({2, device});
  const auto outcomes = weights_test::on_ranks(2, [&](int r) {
    auto& own = ranks[static_cast<std::size_t>(r)];
    for (const std::size_t w : {0, 2}) own.weights[w].rowwise = own.weights[w].columnwise = {};
    MasterCastOptions options;
    options.device = device;
    return cast_master_weights_to_nvfp4(*test_runtime(), own.weights, own.shards, own.starts,
                                        group[static_cast<std::size_t>(r)].get(), options);
  });
  for (std::size_t r = 0; r < 2; ++r) {
    ASSERT_TRUE(outcomes[r]) << outcomes[r].error().message();
    EXPECT_EQ(ranks[r].codes_difference(model, 1), "");
    EXPECT_EQ(ranks[r].scale_difference(model, 1), "");
  }
}

// Ranks without a shard of a weight need none of its codes, and have its scales all the same.
TEST_F(ShardedWeights, WhoseCodesARankThatOwnsNothingDoesNotHave) {
  const Model model = Model::random({{18, 20}, {33, 16}}, 3, true);
  const Bounds bounds = {{0, 0, 181, 360}, {0, 263, 263, 528}};
  std::vector<weights_test::RankWeights> ranks;
  for (int r = 0; r < 3; ++r) ranks.emplace_back(device, model, bounds, r);
  const auto group = thread_ranks({3, device});
  const auto outcomes = weights_test::on_ranks(3, [&](int r) {
    auto& own = ranks[static_cast<std::size_t>(r)];
    for (std::size_t w = 0; w < 2; ++w) {
      if (own.shards[w].cols() == 0) own.weights[w].rowwise.data = nullptr;
    }
    MasterCastOptions options;
    options.device = device;
    options.gather = false;
    return cast_master_weights_to_nvfp4(*test_runtime(), own.weights, own.shards, own.starts,
                                        group[static_cast<std::size_t>(r)].get(), options);
  });
  for (std::size_t r = 0; r < 3; ++r) {
    ASSERT_TRUE(outcomes[r]) << outcomes[r].error().message();
    for (std::size_t w = 0; w < 2; ++w) {
      EXPECT_EQ(ranks[r].own_codes_difference(model, w), "");
      EXPECT_EQ(ranks[r].scale_difference(model, w), "");
    }
  }
}

TEST_F(ShardedWeights, OfEverySixteenBitValue) {
  EXPECT_EQ(weights_test::cast_every_sixteen_bit_value(*test_runtime(), device), "");
}

TEST_F(ShardedWeights, OfNothingFiniteOrNothingAtAll) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Model model =
      Model::random({{18, 20}, {18, 20}, {18, 20}, {18, 20}, {18, 20}, {0, 20}, {20, 0}}, 3, false);
  const auto fill = [&](std::size_t w, auto value) {
    for (std::size_t i = 0; i < model.weights[w].master.size(); ++i)
      model.weights[w].master[i] = value(i);
  };
  fill(0, [&](std::size_t i) {
    return i % 7 == 0 ? kInfinity : i % 5 == 0 ? -kInfinity : float(i);
  });
  fill(1, [&](std::size_t) { return kNaN; });
  fill(2, [&](std::size_t i) { return i % 2 == 0 ? 0.0f : -0.0f; });
  fill(3, [&](std::size_t i) { return std::ldexp(float(i % 9) - 4.0f, -145); });
  fill(4, [&](std::size_t i) { return i < 40 ? kNaN : i % 3 == 0 ? 3.4e38f : 1e-30f; });
  for (const DType type : {DType::bf16, DType::f32}) {
    model.model = type;
    GroupCast how;
    how.post = true;
    const std::vector<std::int64_t> cuts = {0, 3, 3, 181, 360}, none = {0, 0, 0, 0, 0};
    ASSERT_EQ(cast(model, {cuts, cuts, cuts, cuts, cuts, none, none}, how), "") << dtype_name(type);
  }
}

TEST_F(ShardedWeights, TenThousandSmallOnes) {
  const Model model = Model::random({10000, {3, 5}}, 5, true);
  Bounds bounds;
  std::mt19937 random(1);
  for (std::size_t i = 0; i < 10000; ++i)
    bounds.push_back({0, static_cast<std::int64_t>(random() % 16), 15});
  EXPECT_EQ(cast(model, bounds), "");
}

TEST_F(ShardedWeights, OfOneRankWithoutACommunicator) {
  const Model model = Model::random({{40, 50}, {16, 32}}, 9, true);
  GroupCast how;
  how.post = true;
  how.alone = true;
  EXPECT_EQ(cast(model, {{0, 2000}, {0, 512}}, how), "");
}

TEST_F(ShardedWeights, FiftyStepsOfATrainingLoop) {
  Model model = Model::random({{48, 64}, {31, 17}, {64, 33}}, 21, false);
  const Bounds bounds = {{0, 1001, 1001, 3072}, {0, 5, 264, 527}, {0, 704, 1409, 2112}};
  EXPECT_EQ(weights_test::train_on_ranks(*test_runtime(), device, model, bounds, 50), "");
}

}  // namespace
}  // namespace diecast
