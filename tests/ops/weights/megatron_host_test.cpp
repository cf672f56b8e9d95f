// Megatron's names at work: parameters that the caller gathers, and dequantizing them.
#include <diecast/ops/reference/nvfp4_te.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/host_device_test.h"
#include "ops/test_runtime.h"
#include "ops/weight_group.h"

namespace diecast {
namespace {

using variants::DeviceBuffer;
using weights_test::Bounds;
using weights_test::Model;
using weights_test::RankWeights;

using MegatronOnHost = HostDeviceTest;

// What shard_storage() calls sent, put together by the caller, is the whole weight, although most
// shards begin inside a byte.
TEST_F(MegatronOnHost, ParametersThatTheCallerGathersAreWhole) {
  const Model model = Model::random({{24, 48}, {5, 7}}, 1, true);
  const Bounds bounds = {{0, 101, 101, 503, 1152}, {0, 9, 18, 27, 35}};
  std::vector<RankWeights> ranks;
  for (int r = 0; r < 4; ++r) ranks.emplace_back(device_, model, bounds, r);
  const auto group = thread_ranks({4, device_});
  const auto outcomes = weights_test::on_ranks(4, [&](int r) {
    const auto at = static_cast<std::size_t>(r);
    RankWeights& own = ranks[at];
    return quantize_nvfp4_param_shard(*test_runtime(), own.weights, own.shards, own.starts,
                                      group[at].get(), {}, device_);
  });
  for (const auto& outcome : outcomes) ASSERT_TRUE(outcome) << outcome.error().message();
  for (std::size_t w = 0; w < 2; ++w) {
    const Model::Weight& weight = model.weights[w];
    std::vector<std::uint8_t> gathered;
    for (std::size_t r = 0; r < 4; ++r) {
      const ShardStorage storage =
          shard_storage(Format::nvfp4, weight.rows, weight.cols, {bounds[w][r], bounds[w][r + 1]});
      const auto* codes = static_cast<const std::uint8_t*>(ranks[r].weights[w].rowwise.data);
      gathered.insert(gathered.end(), codes + storage.sent.begin, codes + storage.sent.end);
      EXPECT_EQ(ranks[r].own_codes_difference(model, w), "");
      EXPECT_EQ(ranks[r].scale_difference(model, w), "");
    }
    EXPECT_EQ(gathered, model.full_cast(w).codes);
  }
}

// A rank's part of a buffer of its own, in place of a weight's whole data: of the second weight
// alone, at an odd address.
TEST_F(MegatronOnHost, AFragmentTakesTheCodesOfOneParameter) {
  const Model model = Model::random({{5, 7}, {24, 48}}, 1, true);
  const Bounds bounds = {{0, 9, 35}, {0, 101, 1152}};
  std::vector<RankWeights> ranks;
  std::vector<std::unique_ptr<DeviceBuffer>> memory;
  std::vector<ShardStorage> storage;
  for (std::size_t r = 0; r < 2; ++r) {
    ranks.emplace_back(device_, model, bounds, static_cast<int>(r));
    storage.push_back(shard_storage(Format::nvfp4, 24, 48, {bounds[1][r], bounds[1][r + 1]}));
    const ShardRange touched = storage[r].touched;
    memory.push_back(std::make_unique<DeviceBuffer>(
        *device_, static_cast<std::size_t>(touched.end - touched.begin), 1));
  }
  const auto group = thread_ranks({2, device_});
  const auto outcomes = weights_test::on_ranks(2, [&](int r) {
    const auto at = static_cast<std::size_t>(r);
    RankWeights& own = ranks[at];
    void* const fragments[] = {nullptr, memory[at]->data_pointer()};
    return quantize_nvfp4_param_shard(*test_runtime(), own.weights, own.shards, own.starts,
                                      group[at].get(), fragments, device_);
  });
  for (const auto& outcome : outcomes) ASSERT_TRUE(outcome) << outcome.error().message();
  std::vector<std::uint8_t> gathered;
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(ranks[r].own_codes_difference(model, 0), "");
    const auto own = memory[r]->bytes();
    const ShardRange sent = storage[r].sent, touched = storage[r].touched;
    gathered.insert(gathered.end(), own.begin() + (sent.begin - touched.begin),
                    own.begin() + (sent.end - touched.begin));
    EXPECT_TRUE(memory[r]->guards_are_whole());
    const auto* whole = static_cast<const std::uint8_t*>(ranks[r].weights[1].rowwise.data);
    EXPECT_EQ(std::count(whole, whole + 576, DeviceBuffer::kPoison), 576);  // is not written
  }
  EXPECT_EQ(gathered, model.full_cast(1).codes);
}

TEST_F(MegatronOnHost, DequantizesWhatWasCast) {
  const Model model = Model::random({{33, 47}}, 5, false);
  RankWeights own(device_, model, {{0, 33 * 47}}, 0);
  quantize_nvfp4_param_shard(*test_runtime(), own.weights, own.shards, own.starts, nullptr, {},
                             device_)
      .value();
  const reference::Nvfp4 q = model.full_cast(0);
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const std::size_t bytes = 33 * 47 * static_cast<std::size_t>(dtype_bits(type)) / 8;
    std::vector<std::uint8_t> want(bytes);
    const Tensor expected{want.data(), type, Shape{33, 47}};
    reference::te_dequantize_nvfp4(q, reference::Global::amax, q.amax, expected).value();
    const DeviceBuffer got(*device_, bytes);
    const Tensor out{got.data_pointer(), type, Shape{33, 47}};
    dequantize_fp4_tensor(*test_runtime(), own.weights[0], out, device_).value();
    EXPECT_EQ(got.bytes(), want) << dtype_name(type);
    EXPECT_TRUE(got.guards_are_whole());
  }
  const DeviceBuffer memory(*device_, 4);
  const Tensor other{memory.data_pointer(), DType::f32, Shape{1, 1}};
  EXPECT_EQ(
      dequantize_fp4_tensor(*test_runtime(), own.weights[0], other, device_).error().message(),
      "diecast: shape_mismatch: dequantize_nvfp4: x is [33, 47], out is [1, 1]\n"
      "  fix: pass out with shape [33, 47]");
  QuantizedTensor mxfp4 = own.weights[0];
  mxfp4.type.format = Format::mxfp4;
  EXPECT_FALSE(dequantize_fp4_tensor(*test_runtime(), mxfp4, other, device_));
}

// A sharded cast, and the columnwise side made of it, are what one op makes of the model's values.
TEST_F(MegatronOnHost, ShardsAreAsQuantizeNvfp4MakesTheWholeWeight) {
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    Model model = Model::random({{40, 96}, {33, 47}}, 23, true);
    model.model = type;
    RankWeights whole(device_, model, {{0, 3840}, {0, 1551}}, 0);
    for (std::size_t w = 0; w < 2; ++w) {
      const auto& values = model.weights[w].master;
      std::vector<std::uint8_t> rounded(values.size() * 4);
      for (std::size_t i = 0; i < values.size(); ++i) {
        reference::store(rounded.data(), type, static_cast<std::int64_t>(i), values[i]);
      }
      const DeviceBuffer x(*device_, rounded.data(), rounded.size());
      const QuantizedTensor& out = whole.weights[w];
      QuantizeNvfp4Options options;
      options.device = device_;
      quantize_nvfp4(*test_runtime(), {x.data_pointer(), type, out.shape}, out, options).value();
      // What a cast is held against everywhere.
      EXPECT_EQ(whole.codes_difference(model, w), "") << dtype_name(type);
      EXPECT_EQ(whole.scale_difference(model, w), "") << dtype_name(type);
      EXPECT_EQ(whole.columnwise_difference(model, w), "") << dtype_name(type);
    }
    weights_test::GroupCast how;
    how.post = true;
    EXPECT_EQ(weights_test::cast_on_ranks(*test_runtime(), device_, model,
                                          {{0, 1001, 3840}, {0, 17, 1551}}, how),
              "")
        << dtype_name(type);
  }
}

}  // namespace
}  // namespace diecast
