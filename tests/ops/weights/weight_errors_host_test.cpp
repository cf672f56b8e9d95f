// Every error of a cast of weights, made by one rank after the other: all ranks fail with the same
// message, which names the rank, and no byte of any weight has changed.
#include <diecast/base/text.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/host_device_test.h"
#include "ops/test_runtime.h"
#include "ops/weight_list.h"

namespace diecast {
namespace {

using weights_test::Bounds;
using weights_test::Model;
using weights_test::on_ranks;
using weights_test::RankWeights;

constexpr int kRanks = 4;
using Change = std::function<void(RankWeights&, MasterCastOptions&)>;

struct Mistake {
  Change change;
  const char* code;
  const char* what;
};

// As if there were room for scales of any layout; nothing is written.
void claim_scales(QuantizedTensor& weight) {
  weight.rowwise.scale_bytes = weight.columnwise.scale_bytes = 4096;
}

class WeightErrors : public HostDeviceTest {
 protected:
  // The first line of the message that all ranks give when rank `wrong` makes the change.
  std::string message(int wrong, const Change& change) {
    std::vector<RankWeights> ranks;
    for (int r = 0; r < kRanks; ++r) ranks.emplace_back(device_, model, bounds, r);
    const auto group = thread_ranks({kRanks, device_}, std::chrono::seconds(20));
    const auto outcomes = on_ranks(kRanks, [&](int r) {
      RankWeights& own = ranks[static_cast<std::size_t>(r)];
      MasterCastOptions options;
      options.device = device_;
      if (r == wrong) change(own, options);
      return cast_master_weights_to_nvfp4(*test_runtime(), own.weights, own.shards, own.starts,
                                          group[static_cast<std::size_t>(r)].get(), options);
    });
    std::string first;
    for (const auto& outcome : outcomes) {
      const std::string text = outcome ? "ok" : outcome.error().message();
      if (!first.empty() && text != first) return cat(text, " | ", first);
      first = text;
    }
    for (const RankWeights& rank : ranks) {
      if (!rank.is_untouched()) return cat("written in spite of ", first);
    }
    return first.substr(0, first.find('\n'));
  }

  const Model model = Model::random({{24, 48}, {5, 7}}, 1, false);
  const Bounds bounds = {{0, 100, 150, 500, 1152}, {0, 9, 18, 27, 35}};
};

const Mistake kMistakes[] = {
    {[](RankWeights& own, MasterCastOptions&) { own.weights[1].shape = {35}; }, "shape_mismatch",
     "weight 1 has shape [35]"},
    {[](RankWeights& own, MasterCastOptions&) {
       own.weights[1].shape = {1, 5, 7};
     },
     "shape_mismatch", "weight 1 has shape [1, 5, 7]"},
    {[](RankWeights& own, MasterCastOptions&) { own.starts[1] = 30; }, "invalid_argument",
     "weight 1: the shard of N elements from 30 on is outside [5, 7] with 35"},
    {[](RankWeights& own, MasterCastOptions&) { own.starts[1] = -1; }, "invalid_argument",
     "weight 1: the shard of N elements from -1 on is outside [5, 7] with 35"},
    {[](RankWeights& own, MasterCastOptions&) {
       own.starts[1] = std::numeric_limits<std::int64_t>::max();
     },
     "invalid_argument",
     "weight 1: the shard of N elements from 9223372036854775807 on is outside [5, 7] with 35"},
    {[](RankWeights& own, MasterCastOptions&) { own.shards[1].dtype = DType::f16; },
     "dtype_mismatch", "weight 1: the master shard is f16"},
    {[](RankWeights& own, MasterCastOptions&) { own.shards[1].dtype = DType::bf16; },
     "dtype_mismatch", "weight 1: the master shard is bf16, others are f32"},
    {[](RankWeights& own, MasterCastOptions& options) {
       options.model = DType::f16;
       own.shards[0].dtype = DType::bf16;
     },
     "dtype_mismatch", "weight 0: the master shard is bf16, the model f16"},
    {[](RankWeights&, MasterCastOptions& options) { options.model = DType::u8; }, "dtype_mismatch",
     "cast_master_weights_to_nvfp4: the model type is u8"},
    {[](RankWeights& own, MasterCastOptions&) { own.shards[1].data = nullptr; }, "missing_buffer",
     "weight 1 master shard: the address of a [N] f32 tensor is null"},
    {[](RankWeights& own, MasterCastOptions&) {
       own.shards[1].shape = {4, 2};
       own.shards[1].row_stride = 3;
     },
     "shape_mismatch", "weight 1: the master shard's rows lie apart"},
    {[](RankWeights& own, MasterCastOptions&) { own.weights[1].rowwise.scale = nullptr; },
     "missing_buffer", "cast_master_weights_to_nvfp4: weight 1: the rowwise scale buffer is null"},
    {[](RankWeights& own, MasterCastOptions&) { own.weights[1].rowwise.data = nullptr; },
     "missing_buffer", "cast_master_weights_to_nvfp4: weight 1: the rowwise data buffer is null"},
    {[](RankWeights& own, MasterCastOptions&) { own.weights[1].rowwise.amax = nullptr; },
     "missing_buffer", "cast_master_weights_to_nvfp4: weight 1: the rowwise amax buffer is null"},
    {[](RankWeights& own, MasterCastOptions&) {
       auto* const amax = reinterpret_cast<std::uint8_t*>(own.weights[1].rowwise.amax);
       own.weights[1].rowwise.amax = reinterpret_cast<float*>(amax + 2);
     },
     "misaligned", "weight 1: an amax is not at a multiple of 4 bytes"},
    {[](RankWeights& own, MasterCastOptions&) { own.weights[1].rowwise = {}; }, "missing_buffer",
     "weight 1 has no rowwise buffers"},
    {[](RankWeights& own, MasterCastOptions&) { own.weights[1].type.square = false; },
     "not_supported", "weight 1 is nvfp4 in 1x16 blocks, E4M3 bound 448, profile te"},
    {[](RankWeights& own, MasterCastOptions&) { own.weights[1].type.profile = Profile::modelopt; },
     "not_supported", "weight 1 is nvfp4 in 16x16 blocks, E4M3 bound 448, profile modelopt"},
    {[](RankWeights& own, MasterCastOptions&) {
       own.weights[1].type.layout = ScaleLayout::s8x4;
       own.weights[1].rowwise.scale_bytes = 32;
       own.weights[1].columnwise = {};
     },
     "not_supported", "weight 1 is nvfp4 with s8x4 scales, weight 0 nvfp4 with linear"},
    {[](RankWeights& own, MasterCastOptions&) {
       own.weights[1].rowwise.scale_stride = 2;
       own.weights[1].rowwise.scale_bytes = 9;
     },
     "not_supported", "weight 1 has linear scales whose rows are apart"},
    {[](RankWeights&, MasterCastOptions& options) { options.padded_scales = true; },
     "shape_mismatch", "weight 0: the scale buffer has 72 bytes, padded scales need 512"},
    {[](RankWeights& own, MasterCastOptions&) { own.starts.pop_back(); }, "invalid_argument",
     "cast_master_weights_to_nvfp4: 2 weights, 2 master shards, 1 start offsets and 0 fragments"},
    {[](RankWeights&, MasterCastOptions& options) {
       static void* const one[1] = {};
       options.gather = false;
       options.fragments = one;
     },
     "invalid_argument",
     "cast_master_weights_to_nvfp4: 2 weights, 2 master shards, 2 start offsets and 1 fragments"},
    {[](RankWeights&, MasterCastOptions& options) {
       static void* const fragments[2] = {};
       options.gather = false;
       options.column_fragments = fragments;
     },
     "not_supported", "cast_master_weights_to_nvfp4: column_fragments are for MXFP8 alone"},
    {[](RankWeights&, MasterCastOptions& options) { options.group_size = 5; }, "invalid_argument",
     "cast_master_weights_to_nvfp4: the group has 4 ranks, the caller expects 5"},
    {[](RankWeights&, MasterCastOptions& options) {
       options.manual_post_all_gather_processing = false;
     },
     "not_supported",
     "cast_master_weights_to_nvfp4: manual_post_all_gather_processing is false, but NVFP4 has no "
     "automatic processing after the gather"},
    {[](RankWeights& own, MasterCastOptions& options) {
       static void* const none[2] = {};
       options.gather = false;
       options.fragments = none;
       own.weights[1].rowwise.data = nullptr;
     },
     "missing_buffer", "cast_master_weights_to_nvfp4: weight 1: the rowwise data buffer is null"},
    {[](RankWeights&, MasterCastOptions& options) {
       static void* const fragments[2] = {};
       options.fragments = fragments;
     },
     "not_supported", "cast_master_weights_to_nvfp4: fragments of weights cannot be gathered here"},
};

TEST_F(WeightErrors, OfOneRankAreTheErrorsOfAll) {
  for (const Mistake& mistake : kMistakes) {
    for (int wrong = 0; wrong < kRanks; ++wrong) {
      std::string what = mistake.what;
      const auto own = static_cast<std::size_t>(wrong);
      const std::string count = cat(bounds[1][own + 1] - bounds[1][own]);
      if (const auto at = what.find(" N "); at != what.npos) what.replace(at + 1, 1, count);
      if (const auto at = what.find("[N]"); at != what.npos) what.replace(at + 1, 1, count);
      ASSERT_EQ(message(wrong, mistake.change),
                cat("diecast: ", mistake.code, ": rank ", wrong, ": ", what));
    }
  }
}

// What must be the same on every rank, and is right by itself.
TEST_F(WeightErrors, OfPlansThatDifferNameTheRank) {
  const Change changes[] = {
      [](RankWeights&, MasterCastOptions& options) { options.model = DType::f32; },
      [](RankWeights&, MasterCastOptions& options) { options.gather = false; },
      [](RankWeights& own, MasterCastOptions&) {
        own.weights[0].shape = {23, 48};
      },
      [](RankWeights& own, MasterCastOptions&) {
        own.weights[0].shape = {24, 47};
      },
      [](RankWeights& own, MasterCastOptions& options) {
        options.padded_scales = true;
        for (QuantizedTensor& weight : own.weights) claim_scales(weight);
      },
      [](RankWeights& own, MasterCastOptions&) {
        for (QuantizedTensor& weight : own.weights) {
          weight.type.layout = ScaleLayout::s128x4;
          claim_scales(weight);
        }
      },
  };
  for (const Change& change : changes) {
    for (int wrong = 0; wrong < kRanks - 1; ++wrong) {  // the last rank's shard ends at the end
      ASSERT_EQ(message(wrong, change),
                cat("diecast: invalid_argument: rank ", wrong,
                    " plans 2 weights in a group of 4, the others 2 in a group of 4, and the plans "
                    "differ"));
    }
  }
  for (int wrong = 0; wrong < kRanks; ++wrong) {
    ASSERT_EQ(message(wrong,
                      [](RankWeights& own, MasterCastOptions&) {
                        own.weights.pop_back();
                        own.shards.pop_back();
                        own.starts.pop_back();
                      }),
              cat("diecast: invalid_argument: rank ", wrong,
                  " plans 1 weights in a group of 4, the others 2 in a group of 4, and the plans "
                  "differ"));
  }
}

TEST_F(WeightErrors, OfTwoRanksAreTheFirstOnes) {
  std::vector<RankWeights> ranks;
  for (int r = 0; r < kRanks; ++r) ranks.emplace_back(device_, model, bounds, r);
  const auto group = thread_ranks({kRanks, device_}, std::chrono::seconds(20));
  for (const auto& outcome : on_ranks(kRanks, [&](int r) {
         RankWeights& own = ranks[static_cast<std::size_t>(r)];
         if (r % 2 == 1) own.weights[1].shape = {r};
         MasterCastOptions options;
         options.device = device_;
         return cast_master_weights_to_nvfp4(*test_runtime(), own.weights, own.shards, own.starts,
                                             group[static_cast<std::size_t>(r)].get(), options);
       })) {
    EXPECT_EQ(outcome.error().what, "rank 1: weight 1 has shape [1]");
  }
}

}  // namespace
}  // namespace diecast
