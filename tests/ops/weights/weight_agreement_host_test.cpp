// Ranks that disagree, err, or stay away: all of them fail with the same error, and none waits for
// ever.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include "ops/host_device_test.h"
#include "ops/test_runtime.h"
#include "ops/weight_list.h"

namespace diecast {
namespace {

using weights_test::Bounds;
using weights_test::Model;
using weights_test::on_ranks;
using weights_test::RankWeights;

class WeightAgreement : public HostDeviceTest {
 protected:
  void SetUp() override {
    HostDeviceTest::SetUp();
    if (IsSkipped()) return;
    options.device = device_;
    for (int r = 0; r < 4; ++r) ranks.emplace_back(device_, model, bounds, r);
  }
  // The message that all four ranks give, each with its own lists and options.
  std::string message(const std::function<void(int, RankWeights&, MasterCastOptions&)>& change) {
    const auto group = thread_ranks({4, device_}, std::chrono::seconds(20));
    const auto outcomes = on_ranks(4, [&](int r) {
      RankWeights& own = ranks[static_cast<std::size_t>(r)];
      MasterCastOptions of_rank = options;
      change(r, own, of_rank);
      return cast_master_weights_to_nvfp4(*test_runtime(), own.weights, own.shards, own.starts,
                                          group[static_cast<std::size_t>(r)].get(), of_rank);
    });
    const auto text = [](const Result<void>& outcome) {
      return outcome ? std::string("ok") : outcome.error().message();
    };
    for (const auto& outcome : outcomes) {
      if (text(outcome) != text(outcomes[0])) return cat(text(outcome), " | ", text(outcomes[0]));
    }
    return text(outcomes[0]);
  }

  const Model model = Model::random({{24, 48}, {5, 7}}, 1, false);
  const Bounds bounds = {{0, 100, 100, 500, 1152}, {0, 9, 18, 27, 35}};
  MasterCastOptions options;
  std::vector<RankWeights> ranks;
};

TEST_F(WeightAgreement, GoesOnWhenAllMeanTheSame) {
  EXPECT_EQ(message([](int, RankWeights&, MasterCastOptions&) {}), "ok");
  EXPECT_EQ(ranks[3].codes_difference(model, 1), "");
}

TEST_F(WeightAgreement, TellsAllOfOneRanksError) {
  EXPECT_EQ(message([](int r, RankWeights& own, MasterCastOptions&) {
              if (r == 2) own.weights[1].shape = {35};
            }),
            "diecast: shape_mismatch: rank 2: weight 1 has shape [35]\n"
            "  fix: weights have two dimensions");
  // Nothing was written.
  EXPECT_NE(ranks[0].scale_difference(model, 0), "");
}

TEST_F(WeightAgreement, NamesTheRankWhosePlanDiffers) {
  const char* differs =
      "diecast: invalid_argument: rank 1 plans 2 weights in a group of 4, the others 2 in a group "
      "of "
      "4, and the plans differ\n"
      "  fix: give rank 1 the same weights (shapes, layouts, order) and options";
  EXPECT_EQ(message([](int r, RankWeights&, MasterCastOptions& own) {
              if (r == 1) own.model = DType::f16;
            }),
            differs);
  EXPECT_EQ(message([](int r, RankWeights& own, MasterCastOptions&) {
              if (r == 1) own.weights[0].shape = {23, 48};
            }),
            differs);
}

TEST_F(WeightAgreement, NamesARankWithAnotherNumberOfWeights) {
  EXPECT_EQ(message([](int r, RankWeights& own, MasterCastOptions&) {
              if (r != 3) return;
              own.weights.pop_back();
              own.shards.pop_back();
              own.starts.pop_back();
            }),
            "diecast: invalid_argument: rank 3 plans 1 weights in a group of 4, the others 2 in a "
            "group of 4, and the plans differ\n"
            "  fix: give rank 3 the same weights (shapes, layouts, order) and options");
}

TEST_F(WeightAgreement, TellsAllWhenARankExpectsAnotherGroup) {
  EXPECT_EQ(
      message([](int r, RankWeights&, MasterCastOptions& own) {
        if (r == 0) own.group_size = 8;
      }),
      "diecast: invalid_argument: rank 0: cast_master_weights_to_nvfp4: the group has 4 ranks, "
      "the caller expects 8\n"
      "  fix: pass the communicator of the group that the weights are sharded over");
}

TEST_F(WeightAgreement, FindsElementsOfTwoRanksAndOfNone) {
  EXPECT_EQ(
      message([](int r, RankWeights& own, MasterCastOptions&) {
        if (r == 2) own.starts[0] = 99;
      }),
      "diecast: invalid_argument: weight 0: elements 99 to 100 belong to rank 0 and to rank 2\n"
      "  fix: give every element of a weight to one rank");
  EXPECT_EQ(message([](int r, RankWeights& own, MasterCastOptions&) {
              if (r == 2) own.starts[0] = 100;
              if (r == 3) own.starts[1] = 27, own.shards[1].shape = {7};
            }),
            "diecast: invalid_argument: weight 1: elements 34 to 35 belong to no rank\n"
            "  fix: give every element of a weight to one rank, or set gather = false");
}

TEST_F(WeightAgreement, ARankThatStaysAwayEndsTheOthersWait) {
  const auto group = thread_ranks({2, device_}, std::chrono::milliseconds(50));
  auto* values = static_cast<float*>(device_->allocate(16).value());
  EXPECT_EQ(
      group[0]->all_reduce_max(values, 4, {}).error().message(),
      "diecast: timed_out: 1 of 2 ranks came to all_reduce_max of 4 within 50 ms\n"
      "  fix: every rank makes the same calls; a longer patience is thread_ranks' last argument");
  EXPECT_EQ(group[1]->all_reduce_max(values, 4, {}).error().code, ErrorCode::timed_out);
  device_->free(values).value();
}

// Whoever's the counts are that differ, all know it at once.
TEST_F(WeightAgreement, ARankWithOtherCountsFailsThemAll) {
  const auto group = thread_ranks({2, device_}, std::chrono::seconds(20));
  std::uint8_t buffers[2][32] = {};
  const auto outcomes = on_ranks(2, [&](int r) {
    const std::int64_t offsets[] = {0, 8}, counts[] = {8, r == 0 ? 8 : 12};
    const Gather gather{buffers[r], offsets, counts};
    return group[static_cast<std::size_t>(r)]->all_gather({&gather, 1}, {});
  });
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::invalid_argument) << outcome.error().message();
  }
}

TEST_F(WeightAgreement, ARankWithAnotherCallFailsThemAll) {
  const auto group = thread_ranks({2, device_});
  auto* values = static_cast<float*>(device_->allocate(16).value());
  const auto outcomes = on_ranks(2, [&](int r) {
    return group[static_cast<std::size_t>(r)]->all_reduce_max(values, r + 1, {});
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.error().code, ErrorCode::invalid_argument);
  device_->free(values).value();
}

TEST_F(WeightAgreement, FragmentsTakeTheBytesOfAShard) {
  // Each rank's codes go to memory of their own that holds the touched bytes alone.
  std::vector<std::unique_ptr<variants::DeviceBuffer>> memory(8);
  std::vector<std::vector<void*>> fragments(4);
  const auto storage = [&](std::size_t r, std::size_t w) {
    const auto& weight = model.weights[w];
    return shard_storage(Format::nvfp4, weight.rows, weight.cols, {bounds[w][r], bounds[w][r + 1]});
  };
  for (std::size_t i = 0; i < 8; ++i) {
    const ShardRange touched = storage(i / 2, i % 2).touched;
    const auto bytes = static_cast<std::size_t>(touched.end - touched.begin);
    memory[i] = std::make_unique<variants::DeviceBuffer>(*device_, bytes);
    fragments[i / 2].push_back(memory[i]->data_pointer());
  }
  EXPECT_EQ(message([&](int r, RankWeights& own, MasterCastOptions& of_rank) {
              of_rank.gather = false;
              of_rank.fragments = fragments[static_cast<std::size_t>(r)];
              for (auto& weight : own.weights) weight.rowwise.data = nullptr;
            }),
            "ok");
  for (std::size_t i = 0; i < 8; ++i) {
    const ShardStorage own = storage(i / 2, i % 2);
    const auto whole = model.full_cast(i % 2).codes, got = memory[i]->bytes();
    for (std::int64_t at = own.sent.begin; at < own.sent.end; ++at) {
      ASSERT_EQ(got[static_cast<std::size_t>(at - own.touched.begin)],
                whole[static_cast<std::size_t>(at)])
          << "rank " << i / 2 << " weight " << i % 2 << " byte " << at;
    }
    // A byte's other half that this rank does not send is as it was.
    const auto first = static_cast<std::size_t>(own.touched.begin);
    if (own.begins_inside_byte) {
      EXPECT_EQ(got[0], (whole[first] & 0xF0) | (variants::DeviceBuffer::kPoison & 0x0F));
    }
    EXPECT_TRUE(memory[i]->guards_are_whole());
  }
}

}  // namespace
}  // namespace diecast
