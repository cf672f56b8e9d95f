// Casts of shards to MXFP8 on the host equal quantizing the whole weights, in both directions.
#include <gtest/gtest.h>

#include <functional>

#include "ops/host_device_test.h"
#include "ops/mx_weight_group.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using weights_test::Bounds;
using weights_test::Model;
using weights_test::MxRank;
using weights_test::on_ranks;

using MxShardedWeights = HostDeviceTest;

TEST_F(MxShardedWeights, EveryBf16ValueIsAsInTheFullCast) {
  EXPECT_EQ(weights_test::cast_mx_every_bf16_value(*test_runtime(), device_), "");
}

TEST_F(MxShardedWeights, EqualTheFullCastHoweverTheyAreCut) {
  EXPECT_EQ(weights_test::cast_mx_however_cut(*test_runtime(), device_), "");
}

TEST_F(MxShardedWeights, OfEveryMasterAndModelTypeGatheredOrNot) {
  EXPECT_EQ(weights_test::cast_mx_every_type(*test_runtime(), device_), "");
}

TEST_F(MxShardedWeights, OfEveryCutOfASmallOne) {
  EXPECT_EQ(weights_test::cast_mx_every_small_cut(*test_runtime(), device_), "");
}

TEST_F(MxShardedWeights, OfNothingFiniteOrNothingAtAll) {
  EXPECT_EQ(weights_test::cast_mx_nothing_finite(*test_runtime(), device_), "");
}

TEST_F(MxShardedWeights, TenThousandSmallOnes) {
  EXPECT_EQ(weights_test::cast_mx_ten_thousand(*test_runtime(), device_), "");
}

TEST_F(MxShardedWeights, OfTheLastRowsAlone) {
  EXPECT_EQ(weights_test::cast_mx_last_rows(*test_runtime(), device_, 160, 1042), "");
}

// Memory of a shard's bytes alone, at an odd address, in place of each direction's data; a rank
// that owns nothing of a weight has neither.
TEST_F(MxShardedWeights, OfFragmentsOfBothDirections) {
  const Model model = Model::random({{24, 48}, {13, 37}}, 41, true);
  const Bounds bounds = {{0, 301, 301, 1152}, {0, 7, 246, 481}};
  std::vector<MxRank> own;
  std::vector<std::unique_ptr<variants::DeviceBuffer>> memory;
  std::vector<std::vector<void*>> fragments(3), column_fragments(3);
  for (std::size_t r = 0; r < 3; ++r) {
    own.emplace_back(device_, model, bounds, static_cast<int>(r), Format::mxfp8_e4m3);
    for (std::size_t w = 0; w < 2; ++w) {
      const auto count = static_cast<std::size_t>(bounds[w][r + 1] - bounds[w][r]);
      for (auto* list : {&fragments[r], &column_fragments[r]}) {
        memory.push_back(std::make_unique<variants::DeviceBuffer>(*device_, count, 1));
        list->push_back(count == 0 ? nullptr : memory.back()->data_pointer());
      }
      own[r].weights[w].rowwise.data = own[r].weights[w].columnwise.data = nullptr;
    }
  }
  const auto group = thread_ranks({3, device_});
  const auto outcomes = on_ranks(3, [&](int r) {
    const auto at = static_cast<std::size_t>(r);
    MasterCastOptions options;
    options.device = device_;
    options.gather = false;
    options.fragments = fragments[at];
    options.column_fragments = column_fragments[at];
    return cast_master_weights_to_mxfp8(*test_runtime(), own[at].weights, own[at].shards,
                                        own[at].starts, group[at].get(), options);
  });
  for (const auto& outcome : outcomes) ASSERT_TRUE(outcome) << outcome.error().message();
  MxRank whole(device_, model, {{0, 1152}, {0, 481}}, 0, Format::mxfp8_e4m3);
  MasterCastOptions alone;
  alone.device = device_;
  cast_master_weights_to_mxfp8(*test_runtime(), whole.weights, whole.shards, whole.starts, nullptr,
                               alone)
      .value();
  for (std::size_t w = 0; w < 2; ++w) {
    for (const std::size_t direction : {0, 1}) {
      ASSERT_EQ(whole.difference(model, w, direction == 1, true), "");
      std::vector<std::uint8_t> all;
      for (std::size_t r = 0; r < 3; ++r) {
        const auto& part = *memory[4 * r + 2 * w + direction];
        const auto bytes = part.bytes();
        all.insert(all.end(), bytes.begin(), bytes.end());
        EXPECT_TRUE(part.guards_are_whole());
      }
      EXPECT_EQ(all, whole.memory[5 * w + 2 * direction]->bytes());
    }
  }
}

TEST_F(MxShardedWeights, TellAllRanksOfOnesError) {
  const struct {
    std::function<void(MxRank&, MasterCastOptions&)> change;
    std::string what;
  } mistakes[] = {
      {[](MxRank& own, MasterCastOptions&) { own.weights[1].columnwise = {}; },
       "rank 1: weight 1 has no columnwise buffers"},
      {[](MxRank& own, MasterCastOptions&) { own.weights[1].rowwise = {}; },
       "rank 1: weight 1 has no rowwise buffers"},
      {[](MxRank& own, MasterCastOptions&) { own.weights[1].type.format = Format::mxfp8_e5m2; },
       "rank 1: weight 1 is mxfp8_e5m2 with linear scales, weight 0 mxfp8_e4m3 with linear"},
      {[](MxRank& own, MasterCastOptions&) { own.starts[1] = 480; },
       "rank 1: weight 1: the shard of 474 elements from 480 on is outside [13, 37] with 481"},
      {[](MxRank& own, MasterCastOptions&) { own.weights[1].shape = {481}; },
       "rank 1: weight 1 has shape [481]"},
      {[](MxRank& own, MasterCastOptions&) { own.shards[1].dtype = DType::f16; },
       "rank 1: weight 1: the master shard is f16"},
      {[](MxRank& own, MasterCastOptions&) { own.weights[1].columnwise.scale = nullptr; },
       "rank 1: cast_master_weights_to_mxfp8: weight 1: the columnwise scale buffer is null"},
      {[](MxRank& own, MasterCastOptions&) { own.weights[1].type.square = true; },
       "rank 1: weight 1 is mxfp8_e4m3 in 32x32 blocks, E4M3 bound 448, profile te"},
      {[](MxRank&, MasterCastOptions& options) { options.group_size = 3; },
       "rank 1: cast_master_weights_to_mxfp8: the group has 2 ranks, the caller expects 3"},
      {[](MxRank&, MasterCastOptions& options) {
         static void* const fragments[2] = {};
         options.column_fragments = fragments;
       },
       "rank 1: cast_master_weights_to_mxfp8: fragments of weights cannot be gathered here"},
      {[](MxRank&, MasterCastOptions& options) {
         static void* const one[1] = {};
         options.gather = false;
         options.column_fragments = one;
       },
       "rank 1: cast_master_weights_to_mxfp8: 2 weights, 2 master shards, 2 start offsets and 1 "
       "fragments"},
      {[](MxRank& own, MasterCastOptions&) {
         for (QuantizedTensor& weight : own.weights) weight.type.format = Format::mxfp8_e5m2;
       },
       "rank 1 plans 2 weights in a group of 2, the others 2 in a group of 2, and the plans "
       "differ"},
      {[](MxRank&, MasterCastOptions& options) { options.padded_scales = true; },
       "rank 1: weight 0: the scale buffer has 48 bytes, padded scales need 512"},
      {[](MxRank&, MasterCastOptions& options) { options.model = DType::f16; },
       "rank 1 plans 2 weights in a group of 2, the others 2 in a group of 2, and the plans "
       "differ"}};
  const Model model = Model::random({{24, 48}, {13, 37}}, 41, true);
  const Bounds bounds = {{0, 301, 1152}, {0, 7, 481}};
  for (const auto& mistake : mistakes) {
    std::vector<MxRank> own;
    for (int r = 0; r < 2; ++r) own.emplace_back(device_, model, bounds, r, Format::mxfp8_e4m3);
    const auto group = thread_ranks({2, device_});
    const auto outcomes = on_ranks(2, [&](int r) {
      const auto at = static_cast<std::size_t>(r);
      MasterCastOptions options;
      options.device = device_;
      if (r == 1) mistake.change(own[at], options);
      return cast_master_weights_to_mxfp8(*test_runtime(), own[at].weights, own[at].shards,
                                          own[at].starts, group[at].get(), options);
    });
    for (const auto& outcome : outcomes) {
      ASSERT_FALSE(outcome) << mistake.what;
      EXPECT_EQ(outcome.error().what, mistake.what);
    }
  }
}

TEST_F(MxShardedWeights, AreOfMxfp8) {
  QuantizedTensor nvfp4;
  nvfp4.shape = {16, 16};
  nvfp4.type.square = true;
  const Tensor none;
  const std::int64_t start = 0;
  MasterCastOptions options;
  options.device = device_;
  EXPECT_EQ(
      cast_master_weights_to_mxfp8(*test_runtime(), {&nvfp4, 1}, {&none, 1}, {&start, 1}, nullptr,
                                   options)
          .error()
          .message(),
      "diecast: not_supported: weight 0 is nvfp4 in 16x16 blocks, E4M3 bound 448, profile te\n"
      "  fix: this op takes mxfp8_e4m3 or mxfp8_e5m2 in 1x32 blocks, profile te");
}

}  // namespace
}  // namespace diecast
