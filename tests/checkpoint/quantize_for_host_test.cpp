// Weights that follow a folder's config have the bits of that folder, in every form.
#include <checkpoint/new_weights.h>
#include <diecast/launch/host_device.h>

#include <algorithm>
#include <bit>

namespace diecast::testing {
namespace {

// The largest magnitude of a BF16 tensor.
float amax_of(const TestTensor& tensor) {
  std::uint32_t largest = 0;
  for (std::size_t i = 1; i < tensor.bytes.size(); i += 2) {
    const auto high = static_cast<std::uint8_t>(tensor.bytes[i]) & 0x7Fu;
    largest = std::max(largest, high << 8 | static_cast<std::uint8_t>(tensor.bytes[i - 1]));
  }
  return std::bit_cast<float>(largest << 16);
}

class QuantizeForOnHost : public NewWeights {
 protected:
  void SetUp() override {
    const auto device = open_host_device(HostDeviceOptions::from_environment());
    if (!device) GTEST_SKIP() << "no host device";
    use(*device);
  }
  ErrorCode refusal(const QuantizeForOptions& options = {}) {
    const auto op = prepare(options);
    return op ? ErrorCode::internal : op.error().code;
  }
};

TEST_F(QuantizeForOnHost, HasTheBitsOfEachForm) { expect_bits_of_each_form(); }

TEST_F(QuantizeForOnHost, HasTheBitsOfTwoFormatsInOneFolder) {
  expect_bits_of_two_formats_in_one_folder();
}

// What the user keeps stays out of the outputs.
TEST_F(QuantizeForOnHost, LeavesWhatTheConfigLeaves) {
  QuantizeOptions options;
  options.keep = {"*.o_proj.*"};
  expect_bits(options);
  EXPECT_EQ(run()->count("model.layers.0.self_attn.o_proj.weight"), 0u);
  EXPECT_EQ(run()->count("lm_head.weight"), 0u);
}

// A shard under the amax of all that share its scale, found elsewhere.
TEST_F(QuantizeForOnHost, QuantizesShardsUnderAGivenAmax) {
  const auto whole = folder_of({});
  const std::string gate = "model.layers.0.mlp.shared_expert.gate_proj";
  const std::string module = "model.layers.0.mlp.shared_expert.";
  const float amax = std::max(amax_of(weights_.at(module + "gate_proj.weight")),
                              amax_of(weights_.at(module + "up_proj.weight")));
  TestTensor shard = weights_.at(gate + ".weight");
  shard.shape[0] = 8;
  shard.bytes = shard.bytes.substr(shard.bytes.size() / 2, shard.bytes.size() / 4);
  weights_ = {{gate + ".weight", shard}};
  EXPECT_EQ(refusal(), ErrorCode::invalid_argument);
  amaxes_[gate + ".weight"] = amax;
  const auto got = run();
  ASSERT_TRUE(got) << got.error().message();
  const auto& codes = whole.at(gate + ".weight").bytes;
  EXPECT_EQ(got->at(gate + ".weight").bytes, codes.substr(codes.size() / 2, codes.size() / 4));
  EXPECT_EQ(got->at(gate + ".weight_scale_2"), whole.at(gate + ".weight_scale_2"));
}

TEST_F(QuantizeForOnHost, RefusesWhatWouldHaveOtherBits) {
  folder_of({});
  const std::string up = "model.layers.0.mlp.shared_expert.up_proj.weight";
  const TestTensor kept = weights_.at(up);
  amaxes_[up] = 1.0f;  // and not that of gate_proj
  EXPECT_EQ(refusal(), ErrorCode::invalid_argument);
  amaxes_.clear();
  weights_.erase(up);
  EXPECT_EQ(refusal(), ErrorCode::invalid_argument);
  EXPECT_TRUE(prepare({{}, true}));
  weights_[up] = random_tensor("BF16", {32, 24}, 5);
  EXPECT_EQ(refusal(), ErrorCode::shape_mismatch);
  weights_[up] = kept;
  input_scale_ = 0;
  EXPECT_EQ(refusal(), ErrorCode::invalid_argument);
  input_scale_ = 1;
  weights_["model.layers.0.mlp.experts.gate_up_proj"] = random_tensor("BF16", {2, 32, 64}, 1);
  weights_["model.layers.0.mlp.experts.down_proj"] = random_tensor("BF16", {2, 32, 32}, 2);
  EXPECT_EQ(refusal(), ErrorCode::not_supported);  // in columns
  add_experts();
  amaxes_["model.layers.0.mlp.experts.down_proj"] = 1;
  EXPECT_EQ(refusal(), ErrorCode::not_supported);
  amaxes_.clear();
  given_.assign(2, weight_of("a.weight", kept));
  EXPECT_FALSE(QuantizeFor::prepare(test_runtime(), device_, config_, given_));
  for (
      const char* config :
      {"", "{}", R"({"quantization_config": {"quant_method": "awq"}})",
       R"({"quantization_config": {"quant_method": "mxfp4"}})",
       R"({"quantization_config": {"quant_method": "modelopt_mixed",)"
       R"( "quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": {"quant_algo": "FP8"}}}})"}) {
    config_ = config;
    EXPECT_EQ(refusal(), ErrorCode::not_supported) << config;
  }
}

TEST_F(QuantizeForOnHost, WantsTheBuffersThatItWasPreparedFor) {
  folder_of({});
  const QuantizeFor op = prepare().value();
  std::vector<const void*> weights(given_.size(), &op);
  const std::vector<const float*> amaxes(given_.size());
  const std::vector<void*> outputs(op.outputs().size());
  float workspace[16];
  const auto code = [](const Result<void>& result) {
    return result ? ErrorCode::internal : result.error().code;
  };
  EXPECT_EQ(code(op.run({}, amaxes, outputs, workspace)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(op.run(weights, {}, outputs, workspace)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(op.run(weights, amaxes, {}, workspace)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(op.run(weights, amaxes, outputs, workspace)), ErrorCode::missing_buffer);
  EXPECT_EQ(code(op.run(weights, amaxes, outputs, nullptr)), ErrorCode::missing_buffer);
}

}  // namespace
}  // namespace diecast::testing
