// Layers of experts through the C interface: the bits of C++, shapes asked first, calls that
// repeat, and what is refused.
#include <diecast/launch/host_device.h>
#include <diecast/ops/linear/combine_experts.h>
#include <diecast/ops/linear/linear_experts.h>
#include <diecast/ops/reference/packed_linear.h>

#include <algorithm>
#include <random>

#include "c/c_fixture.h"
#include "ops/test_runtime.h"

namespace diecast {
namespace {

using testing::COnHost;
using testing::CTensor;
using testing::last_error;

constexpr std::int64_t kExperts = 3, kTokens = 4, kSlots = 2, kRows = 48, kCols = 64;
constexpr int kFloat = 2;  // DLPack's code

class CExperts : public COnHost {
 protected:
  CExperts() {
    std::mt19937 random(7);
    auto to = packed_.begin();
    for (std::int64_t i = 0; i < kExperts; ++i) {
      reference::CheckpointWeight one{Format::nvfp4, kRows, kCols, {}, {}};
      for (std::int64_t at = 0; at < kRows * kCols / 2; ++at)
        one.codes.push_back(static_cast<std::uint8_t>(random()));
      for (std::int64_t at = 0; at < kRows * kCols / 16; ++at)
        one.scales.push_back(static_cast<std::uint8_t>(1 + random() % 126));
      const auto tiles = reference::pack_linear(one, Gated::none).bytes;
      to = std::copy(tiles.begin(), tiles.end(), to);
    }
    for (auto& value : x_) value = static_cast<std::uint16_t>(0x3000 + random() % 0x0C00);  // f16
    linear_.size = sizeof linear_, combine_.size = sizeof combine_;
    linear_.x = x.get(), linear_.packed = packed.get(), linear_.factor = factor.get();
    linear_.routing = ids.get(), linear_.out = middle.get();
    combine_.x = middle.get(), combine_.topk_ids = ids.get();
    combine_.topk_weights = shares.get(), combine_.out = out.get();
    how_.rows = kRows, how_.cols = kCols, how_.weights = kExperts;
    sum_.experts = kExperts;
  }
  int run() {
    const int made = diecast_linear_experts(runtime_, host_, &linear_, &how_, nullptr);
    return made != diecast_ok ? made
                              : diecast_combine_experts(runtime_, host_, &combine_, &sum_, nullptr);
  }

  std::vector<std::uint8_t> packed_ = std::vector<std::uint8_t>(kExperts * 2304);
  std::vector<std::uint16_t> x_ = std::vector<std::uint16_t>(kTokens * kCols);
  std::vector<float> factor_ = {0.3f, 0.5f, 0.7f}, shares_ = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::int32_t> ids_ = {0, 2, -1, 1, 2, 2, 9, -5};
  std::vector<float> middle_ = std::vector<float>(kTokens * kSlots * kRows, -77.0f);
  std::vector<float> out_ = std::vector<float>(kTokens * kRows);
  CTensor packed{packed_, {kExperts * 2304}}, x{x_, {kTokens, kCols}, kFloat};
  CTensor factor{factor_, {kExperts}}, shares{shares_, {kTokens, kSlots}};
  CTensor ids{ids_, {kTokens, kSlots}, 0}, middle{middle_, {kTokens, kSlots, kRows}};
  CTensor out{out_, {kTokens, kRows}};
  diecast_linear_experts_tensors linear_{};
  diecast_combine_experts_tensors combine_{};
  diecast_linear_experts_options how_ = diecast_linear_experts_defaults();
  diecast_combine_experts_options sum_ = diecast_combine_experts_defaults();
};

TEST_F(CExperts, HasTheBitsOfCpp) {
  std::vector<float> middle_wanted(middle_.size(), -77.0f), wanted(out_.size());
  const auto host = open_host_device().value();
  const Tensor of_experts{middle_wanted.data(), DType::f32, {kTokens * kSlots, kRows}};
  linear_experts(*test_runtime(), {x_.data(), DType::f16, {kTokens, kCols}},
                 {.shape = {kExperts, kRows, kCols},
                  .data = packed_.data(),
                  .bytes = static_cast<std::int64_t>(packed_.size())},
                 factor_.data(), {RoutingForm::indexed, ids_.data()}, of_experts, {.device = host})
      .value();
  combine_experts(*test_runtime(), of_experts, {ids_.data(), shares_.data(), kExperts},
                  {wanted.data(), DType::f32, {kTokens, kRows}}, {host})
      .value();
  for (int call = 0; call < 2; ++call) {  // the second one is like the first
    ASSERT_EQ(run(), diecast_ok) << last_error();
    EXPECT_EQ(middle_, middle_wanted);
    EXPECT_EQ(out_, wanted);
    out_.assign(out_.size(), 1.0f);
  }
}

TEST_F(CExperts, WideIdsUnderAMapAreTheSame) {
  ASSERT_EQ(run(), diecast_ok) << last_error();
  const std::vector<float> wanted = middle_, sums_wanted = out_;
  std::vector<std::int32_t> to_local = {2, -1, 0, 7, 1};
  std::vector<std::int64_t> global = {2, 0, 1, 4, 0, 0, -1, 5};  // ids_, before the map
  CTensor wide{global, {kTokens, kSlots}, 0}, map{to_local, {5}, 0};
  linear_.routing = wide.get(), linear_.expert_map = map.get();
  how_.fast = 1;  // the host has one kernel
  combine_.topk_ids = wide.get(), combine_.expert_map = map.get();
  for (int call = 0; call < 2; ++call) {
    middle_.assign(middle_.size(), -77.0f);
    ASSERT_EQ(run(), diecast_ok) << last_error();
    EXPECT_EQ(middle_, wanted);
    EXPECT_EQ(out_, sums_wanted);
    out_.assign(out_.size(), 1.0f);
  }
}

TEST_F(CExperts, UnexpectedIdsAreAddedToAWord) {
  std::vector<std::int32_t> word_ = {5};
  CTensor word{word_, {1}, 0};
  linear_.out_unexpected = word.get(), combine_.out_unexpected = word.get();
  for (const int wanted : {9, 13}) {  // 9 and -5, by both
    ASSERT_EQ(run(), diecast_ok) << last_error();
    EXPECT_EQ(word_[0], wanted);
  }
  std::vector<std::int32_t> other_ = {5};
  CTensor other{other_, {1}, 0};
  linear_.out_unexpected = other.get();
  ASSERT_EQ(run(), diecast_ok) << last_error();
  EXPECT_EQ(other_[0], 7);
  EXPECT_EQ(word_[0], 15);
}

TEST_F(CExperts, ShapesAreAskedFirst) {
  diecast_output told[2];
  std::size_t count = 0;
  how_.dtype = "f16";
  linear_.out = nullptr;
  ASSERT_EQ(diecast_op_outputs(diecast_op_linear_experts, &linear_, &how_, told, 2, &count),
            diecast_ok)
      << last_error();
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(told[0].dtype, "f16");
  EXPECT_EQ(told[0].ndim, 3);
  EXPECT_EQ(told[0].shape[1], kSlots);
  ASSERT_EQ(diecast_op_outputs(diecast_op_combine_experts, &combine_, &sum_, told, 2, &count),
            diecast_ok)
      << last_error();
  EXPECT_EQ(told[0].ndim, 2);
  EXPECT_EQ(told[0].shape[1], kRows);
}

TEST_F(CExperts, RefusesWhatDoesNotFit) {
  const auto refused = [this] {
    EXPECT_NE(run(), diecast_ok);
    const std::string error = last_error();
    return error.substr(0, error.find(':'));
  };
  how_.weights = 0;
  EXPECT_EQ(refused(), "value_missing");
  how_.weights = kExperts + 1;  // more bytes, and factors, than there are
  EXPECT_EQ(refused(), "shape_mismatch");
  how_.weights = kExperts, how_.form = "sorted";
  EXPECT_EQ(refused(), "value_not_allowed");
  how_.form = "contiguous";  // rows of out are those of x
  EXPECT_EQ(refused(), "shape_mismatch");
  how_.form = nullptr, sum_.experts = 0;
  EXPECT_EQ(refused(), "value_missing");
  sum_.experts = kExperts;
  ids->shape[0] = 3;
  EXPECT_EQ(refused(), "shape_mismatch");
}

}  // namespace
}  // namespace diecast
