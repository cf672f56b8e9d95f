// Casts of shards on the host equal the full cast to the bit: every way to cut, every way to begin
// inside a byte, hostile values; and nothing but the owned halves of bytes is written.
#include <gtest/gtest.h>

#include <random>

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
