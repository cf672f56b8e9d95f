// Weights that follow a folder's config have the bits of that folder, in every form.
#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/quantize_for.h>
#include <diecast/launch/host_device.h>
#include <ops/test_runtime.h>

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

NewWeight weight_of(const std::string& name, const TestTensor& tensor) {
  NewWeight out;
  out.name = name;
  const std::vector<std::int64_t> dims(tensor.shape.begin(), tensor.shape.end());
  out.shape = Shape(std::span<const std::int64_t>(dims));
  return out;
}

class QuantizeForOnHost : public Convert {
 protected:
  QuantizeForOnHost() {
    const auto opened = open_host_device(HostDeviceOptions::from_environment());
    if (opened) device_ = *opened;
    std::filesystem::create_directories(model_);
    std::uint64_t seed = 0;
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
      weights_[name] = random_tensor("BF16", std::move(shape), ++seed);
    };
    add("model.embed_tokens.weight", {32, 32});
    add("lm_head.weight", {32, 32});
    add("model.norm.weight", {32});
    add("model.layers.0.mlp.gate.weight", {2, 32});
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      add(cat("model.layers.0.self_attn.", name, ".weight"), {32, 32});
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      add(cat("model.layers.0.mlp.shared_expert.", name, ".weight"), {32, 32});
    // A whole weight of zeros, which has no scale of its own.
    auto& zeros = weights_["model.layers.0.self_attn.o_proj.weight"].bytes;
    zeros.assign(zeros.size(), '\0');
  }
  void SetUp() override {
    if (!device_) GTEST_SKIP() << "no host device";
  }
  void add_experts() {
    weights_["model.layers.0.mlp.experts.gate_up_proj"] = random_tensor("BF16", {2, 64, 32}, 91);
    weights_["model.layers.0.mlp.experts.down_proj"] = random_tensor("BF16", {2, 32, 32}, 92);
  }

  // The folder that the scalar kernels make of the weights, and its config.
  std::map<std::string, TestTensor> folder_of(const QuantizeOptions& options) {
    std::filesystem::remove_all(small_);
    TestFile file{weights_, {{"format", "pt"}}};
    write_text(model_ + "/model.safetensors", encode(file));
    write_text(model_ + "/config.json", R"({"num_hidden_layers": 1})");
    const auto report = quantize_with_scalars(model_, small_, options);
    EXPECT_TRUE(report) << report.error().message();
    config_ = text_of(small_ + "/config.json");
    return decode(text_of(small_ + "/model.safetensors")).tensors;
  }
  Result<QuantizeFor> prepare(const QuantizeForOptions& options = {}) {
    given_.clear();
    for (const auto& [name, tensor] : weights_) given_.push_back(weight_of(name, tensor));
    for (NewWeight& weight : given_) {
      weight.amax_given = amaxes_.contains(weight.name);
      weight.input_scale = input_scale_;
    }
    return QuantizeFor::prepare(test_runtime(), device_, config_, given_, options);
  }
  Result<std::map<std::string, TestTensor>> run(const QuantizeForOptions& options = {}) {
    DIECAST_TRY(const QuantizeFor op, prepare(options));
    std::vector<const void*> weights;
    std::vector<const float*> amaxes;
    for (const NewWeight& weight : given_) {
      weights.push_back(weights_.at(weight.name).bytes.data());
      amaxes.push_back(weight.amax_given ? &amaxes_.at(weight.name) : nullptr);
    }
    std::vector<std::vector<double>> memory;  // from multiples of 16 bytes on
    std::vector<void*> outputs;
    for (const TensorInfo& output : op.outputs())
      outputs.push_back(memory.emplace_back(output.bytes() / 8 + 1).data());
    std::vector<float> workspace(op.workspace_bytes() / sizeof(float));
    DIECAST_CHECK(op.run(weights, amaxes, outputs, workspace.data()));
    std::map<std::string, TestTensor> out;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const TensorInfo& info = op.outputs()[i];
      out[info.name] = {std::string(stored_dtype_name(info.dtype)), info.shape,
                        std::string(static_cast<const char*>(outputs[i]), info.bytes())};
    }
    return out;
  }
  // What the folder has beside tensors that are copied.
  std::map<std::string, TestTensor> written(std::map<std::string, TestTensor> folder) {
    for (const auto& [name, tensor] : weights_)
      if (const auto found = folder.find(name); found != folder.end() && found->second == tensor)
        folder.erase(found);
    return folder;
  }
  void expect_bits(const QuantizeOptions& options) {
    const auto want = written(folder_of(options));
    const auto got = run({options.scheme});
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_FALSE(want.empty());
    EXPECT_TRUE(*got == want);
  }
  ErrorCode refusal(const QuantizeForOptions& options = {}) {
    const auto op = prepare(options);
    return op ? ErrorCode::internal : op.error().code;
  }

  std::shared_ptr<Device> device_;
  const std::string model_ = folder_ / "model", small_ = folder_ / "small";
  std::map<std::string, TestTensor> weights_;
  std::vector<NewWeight> given_;
  std::map<std::string, float> amaxes_;
  std::string config_;
  float input_scale_ = 1.0f;
};

TEST_F(QuantizeForOnHost, HasTheBitsOfEachFolder) {
  add_experts();
  expect_bits({});
  input_scale_ = 0.25f;
  QuantizeOptions options;
  options.input_scale = 0.25f;
  options.config = EngineConfig::compressed_tensors;
  expect_bits(options);
  options = {};
  options.format = WeightFormat::nvfp4_w4a16;
  expect_bits(options);
  options = {};
  options.input_scale = 0.25f;
  options.mxfp8 = {"*.self_attn.*"};
  expect_bits(options);
}

TEST_F(QuantizeForOnHost, HasTheBitsOfFoldersOfMxFormats) {
  using Form = std::pair<WeightFormat, EngineConfig>;
  for (const auto& [format, config] :
       {Form{WeightFormat::mxfp8, EngineConfig::modelopt},
        Form{WeightFormat::mxfp8, EngineConfig::sglang},
        Form{WeightFormat::mxfp4, EngineConfig::compressed_tensors}}) {
    QuantizeOptions options;
    options.format = format;
    options.config = config;
    expect_bits(options);
  }
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
