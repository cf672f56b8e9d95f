// Casts of shards on the host equal the full cast to the bit: every way to cut, every way to begin
// inside a byte, hostile values; and nothing but the owned halves of bytes is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "how_many.h"
#include "ops/device_buffer.h"
#include "ops/host_device_test.h"
#include "ops/test_runtime.h"
#include "ops/weight_group.h"
#include "ops/weight_truths.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;
using weights_test::Bounds;
using weights_test::GroupCast;
using weights_test::Model;
using weights_test::uneven_bounds;

class ShardedWeights : public HostDeviceTest {
 protected:
  std::string cast(const Model& model, const Bounds& bounds, GroupCast how = {}) {
    return weights_test::cast_on_ranks(*test_runtime(), device_, model, bounds, how);
  }
  // What both ranks have brought is cast, and `weights` of it are as the full cast on each.
  void expect_cast(const Model& model, std::vector<weights_test::RankWeights>& ranks,
                   const std::vector<std::size_t>& weights) {
    const auto group = thread_ranks({2, device_});
    MasterCastOptions options;
    options.device = device_;
    const auto outcomes = weights_test::on_ranks(2, [&](int r) {
      auto& own = ranks[static_cast<std::size_t>(r)];
      return cast_master_weights_to_nvfp4(*test_runtime(), own.weights, own.shards, own.starts,
                                          group[static_cast<std::size_t>(r)].get(), options);
    });
    for (std::size_t r = 0; r < 2; ++r) {
      ASSERT_TRUE(outcomes[r]) << outcomes[r].error().message();
      for (const std::size_t w : weights) {
        EXPECT_EQ(ranks[r].codes_difference(model, w), "");
        EXPECT_EQ(ranks[r].scale_difference(model, w), "");
      }
    }
  }
};

TEST_F(ShardedWeights, OfEverySplitOfSmallMatrices) {
  EXPECT_EQ(weights_test::cast_every_split(*test_runtime(), device_), "");
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
  for (const auto& [master, type] : weights_test::kMasterTypes) {
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
      const bool even = static_cast<int>(layout) % 2 == (master == DType::bf16);
      if (!testing::how_many(even, true, true)) continue;
      Model model = Model::random(shapes, 11, true, master);
      model.layout = layout;
      GroupCast how;
      how.post = true;
      ASSERT_EQ(cast(model, uneven_bounds(model), how), "")
          << word(layout) << " " << dtype_name(master);
    }
  }
}

TEST_F(ShardedWeights, OfPaddedLinearScales) {
  EXPECT_EQ(weights_test::cast_with_padded_scales(*test_runtime(), device_), "");
}

TEST_F(ShardedWeights, BeginBehind2To31Elements) {
  EXPECT_EQ(weights_test::cast_behind_2_to_31(*test_runtime(), device_), "");
}

TEST_F(ShardedWeights, OfAnythingDrawnAtRandom) {
  EXPECT_EQ(weights_test::cast_at_random(*test_runtime(), device_), "");
}

TEST_F(ShardedWeights, OfNothingFiniteOrNothingAtAll) {
  EXPECT_EQ(weights_test::cast_nothing_finite(*test_runtime(), device_), "");
}

TEST_F(ShardedWeights, TenThousandSmallOnes) {
  EXPECT_EQ(weights_test::cast_ten_thousand(*test_runtime(), device_), "");
}

TEST_F(ShardedWeights, OfRanksThatSpeakThroughCallbacks) {
  const Model model = Model::random({{24, 48}, {13, 37}}, 17, true);
  GroupCast how;
  how.post = true;
  how.callbacks = true;
  EXPECT_EQ(cast(model, {{0, 301, 301, 1152}, {0, 7, 246, 481}}, how), "");
}

// Weights of 1 and of 3 tiles, all of which both ranks have a part of, in scratch that holds NaN.
TEST_F(ShardedWeights, BringNoNaNToTheOthers) {
  const Model model = Model::random({{16, 16}, {16, 48}}, 5, true);
  const Bounds bounds = {{0, 128, 256}, {0, 384, 768}};
  const auto group = thread_ranks({2, device_});
  const auto outcomes = weights_test::on_ranks(2, [&](int r) -> Result<void> {
    Communicator& others = *group[static_cast<std::size_t>(r)];
    std::int64_t nan = 0;
    CommunicatorCallbacks callbacks;
    callbacks.all_reduce_max = [&](float* values, std::int64_t count, Stream stream) {
      nan += std::count_if(values, values + count, [](float each) { return std::isnan(each); });
      return others.all_reduce_max(values, count, stream);
    };
    callbacks.all_gather = [&](const Gather& gather, Stream stream) {
      return others.all_gather({&gather, 1}, stream);
    };
    DIECAST_TRY(auto communicator, CallbackCommunicator::make(r, 2, callbacks));
    weights_test::RankWeights own(device_, model, bounds, r);
    MasterCastOptions options;
    options.device = device_;
    DIECAST_TRY(const auto cast,
                PreparedMasterCast::prepare(*test_runtime(), own.weights, own.shards, own.starts,
                                            &communicator, options));
    const auto bytes = static_cast<std::size_t>(cast.scratch_bytes());
    DeviceBuffer scratch(*device_, bytes);
    DIECAST_CHECK(device_->fill(scratch.data_pointer(), 0xFF, bytes, {}));
    DIECAST_CHECK(cast.run(scratch.data_pointer(), {}));
    EXPECT_EQ(nan, 0) << r;
    return {};
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome) << outcome.error().message();
}

// A weight without elements needs no buffers, and the others are cast as without it.
TEST_F(ShardedWeights, BesideOnesWithoutElementsOrBuffers) {
  const Model model = Model::random({{0, 20}, {18, 20}, {20, 0}}, 3, true);
  const Bounds bounds = {{0, 0, 0}, {0, 181, 360}, {0, 0, 0}};
  std::vector<weights_test::RankWeights> ranks;
  for (int r = 0; r < 2; ++r) ranks.emplace_back(device_, model, bounds, r);
  for (auto& own : ranks) {
    for (const std::size_t w : {0, 2}) own.weights[w].rowwise = own.weights[w].columnwise = {};
  }
  expect_cast(model, ranks, {1});
}

// A view of no elements has an address, and perhaps the type of nothing else.
TEST_F(ShardedWeights, BesideAShardWithoutElementsThatHasAnAddressAndAnotherType) {
  const Model model = Model::random({{18, 20}, {18, 20}}, 3, true, DType::bf16);
  const Bounds bounds = {{0, 0, 360}, {0, 181, 360}};
  std::vector<weights_test::RankWeights> ranks;
  for (int r = 0; r < 2; ++r) ranks.emplace_back(device_, model, bounds, r);
  ranks[0].shards[0].data = ranks[0].shards[1].data;
  ranks[0].shards[0].dtype = DType::f32;
  expect_cast(model, ranks, {0, 1});
}

// Ranks without a shard of a weight need none of its codes, and have its scales all the same.
TEST_F(ShardedWeights, WhoseCodesARankThatOwnsNothingDoesNotHave) {
  const Model model = Model::random({{18, 20}, {33, 16}}, 3, true);
  const Bounds bounds = {{0, 0, 181, 360}, {0, 263, 263, 528}};
  std::vector<weights_test::RankWeights> ranks;
  for (int r = 0; r < 3; ++r) ranks.emplace_back(device_, model, bounds, r);
  const auto group = thread_ranks({3, device_});
  const auto outcomes = weights_test::on_ranks(3, [&](int r) {
    auto& own = ranks[static_cast<std::size_t>(r)];
    for (std::size_t w = 0; w < 2; ++w) {
      if (own.shards[w].cols() == 0) own.weights[w].rowwise.data = nullptr;
    }
    MasterCastOptions options;
    options.device = device_;
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
  EXPECT_EQ(weights_test::cast_every_sixteen_bit_value(*test_runtime(), device_), "");
}

TEST_F(ShardedWeights, OfOneRankWithoutACommunicator) {
  const Model model = Model::random({{40, 50}, {16, 32}}, 9, true);
  GroupCast how;
  how.post = true;
  how.alone = true;
  EXPECT_EQ(cast(model, {{0, 2000}, {0, 512}}, how), "");
}

TEST_F(ShardedWeights, OfNoWeightsAreDoneWhenAllRanksAgree) {
  const auto group = thread_ranks({3, device_});
  const auto outcomes = weights_test::on_ranks(3, [&](int r) {
    MasterCastOptions options;
    options.device = device_;
    return cast_master_weights_to_nvfp4(*test_runtime(), {}, {}, {},
                                        group[static_cast<std::size_t>(r)].get(), options);
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST_F(ShardedWeights, FiftyStepsOfATrainingLoop) {
  Model model = Model::random({{48, 64}, {31, 17}, {64, 33}}, 21, false);
  const Bounds bounds = {{0, 1001, 1001, 3072}, {0, 5, 264, 527}, {0, 704, 1409, 2112}};
  EXPECT_EQ(weights_test::train_on_ranks(*test_runtime(), device_, model, bounds, 50), "");
}

}  // namespace
}  // namespace diecast
