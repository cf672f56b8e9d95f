// New weights of a quantized folder on a device, and the folder that `quantize` makes of them.
#pragma once

#include <checkpoint/sharded_fixture.h>
#include <diecast/base/text.h>
#include <diecast/checkpoint/kernels.h>
#include <diecast/checkpoint/quantize_for.h>
#include <diecast/launch/device_memory.h>
#include <launch/counting_device.h>
#include <ops/test_runtime.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace diecast::testing {

using TestTensors = std::map<std::string, TestTensor>;

inline NewWeight weight_of(const std::string& name, const TestTensor& tensor) {
  NewWeight out;
  out.name = name;
  out.dtype = float_dtype(parse_stored_dtype(tensor.dtype).value()).value();
  const std::vector<std::int64_t> dims(tensor.shape.begin(), tensor.shape.end());
  out.shape = Shape(std::span<const std::int64_t>(dims));
  return out;
}

// What quantize_for writes: the forms that the planner takes, but gpt-oss's own.
inline std::vector<QuantizeOptions> forms_of_new_weights() {
  std::vector<QuantizeOptions> out;
  for (std::size_t format = 0; format < words_of(WeightFormat{}).size(); ++format) {
    for (std::size_t config = 0; config < words_of(EngineConfig{}).size(); ++config) {
      QuantizeOptions options;
      options.format = static_cast<WeightFormat>(format);
      options.config = static_cast<EngineConfig>(config);
      if (options.config == EngineConfig::gpt_oss) continue;
      if (stored_form(options.format, options.config, false)) out.push_back(options);
    }
  }
  return out;
}

class NewWeights : public Convert {
 protected:
  NewWeights() {
    std::filesystem::create_directories(model_);
    std::uint64_t seed = 0;
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape,
                         const std::string& type = "BF16") {
      weights_[name] = random_tensor(type, std::move(shape), ++seed);
    };
    add("model.embed_tokens.weight", {32, 32});
    add("lm_head.weight", {32, 32});
    add("model.norm.weight", {32});
    add("model.layers.0.mlp.gate.weight", {2, 32});
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      add(cat("model.layers.0.self_attn.", name, ".weight"), {32, 32});
    for (const char* name : {"gate_proj", "up_proj"})
      add(cat("model.layers.0.mlp.shared_expert.", name, ".weight"), {32, 32});
    add("model.layers.0.mlp.shared_expert.down_proj.weight", {48, 64}, "F32");
    add("model.layers.1.mlp.down_proj.weight", {64, 160}, "F16");
    // A whole weight of zeros, which has no scale of its own.
    auto& zeros = weights_["model.layers.0.self_attn.o_proj.weight"].bytes;
    zeros.assign(zeros.size(), '\0');
  }
  void add_experts() {
    weights_["model.layers.0.mlp.experts.gate_up_proj"] = random_tensor("BF16", {2, 64, 32}, 91);
    weights_["model.layers.0.mlp.experts.down_proj"] = random_tensor("BF16", {2, 32, 32}, 92);
  }
  void use(std::shared_ptr<Device> device) {
    device_ = std::make_shared<CountingDevice>(std::move(device));
    stream_ = device_->create_stream().value();
  }

  // The folder that kernels() make of the weights, and its config.
  TestTensors folder_of(const QuantizeOptions& options) {
    std::filesystem::remove_all(small_);
    write_text(model_ + "/model.safetensors", encode({weights_, {{"format", "pt"}}}));
    write_text(model_ + "/config.json", R"({"num_hidden_layers": 2})");
    const Checkpoint checkpoint = Checkpoint::open(model_).value();
    const Plan plan = plan_quantize(checkpoint, options).value();
    convert(checkpoint, plan, small_, kernels(options)).value();
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

  // Once as it is, and once more as a graph that was captured: neither allocates.
  Result<TestTensors> run(const QuantizeForOptions& options = {}) {
    DIECAST_TRY(const QuantizeFor op, prepare(options));
    std::vector<DeviceMemory> memory;
    const auto place = [&](const void* from, std::size_t bytes) {
      memory.push_back(DeviceMemory::allocate(device_, bytes).value());
      if (from) device_->copy_to_device(memory.back().data(), from, bytes, stream_).value();
      return memory.back().data();
    };
    std::vector<const void*> weights;
    std::vector<const float*> amaxes;
    for (const NewWeight& weight : given_) {
      const std::string& bytes = weights_.at(weight.name).bytes;
      weights.push_back(place(bytes.data(), bytes.size()));
      amaxes.push_back(weight.amax_given
                           ? static_cast<const float*>(place(&amaxes_.at(weight.name), 4))
                           : nullptr);
    }
    std::vector<void*> outputs;
    for (const TensorInfo& output : op.outputs()) outputs.push_back(place(nullptr, output.bytes()));
    auto* const workspace = static_cast<float*>(place(nullptr, op.workspace_bytes()));
    const std::uint64_t allocations = device_->allocations();
    const auto call = [&] { return op.run(weights, amaxes, outputs, workspace, stream_); };
    DIECAST_CHECK(call());
    DIECAST_TRY(const TestTensors first, read(op, outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      DIECAST_CHECK(device_->fill(outputs[i], 0xA5, op.outputs()[i].bytes(), stream_));
    DIECAST_TRY(const auto captured, device_->capture(stream_, call));
    DIECAST_CHECK(captured->repeat());
    DIECAST_TRY(TestTensors out, read(op, outputs));
    EXPECT_TRUE(out == first);
    EXPECT_EQ(device_->allocations(), allocations);
    return out;
  }

  // What the folder has beside tensors that are copied.
  TestTensors written(TestTensors folder) {
    for (const auto& [name, tensor] : weights_)
      if (const auto found = folder.find(name); found != folder.end() && found->second == tensor)
        folder.erase(found);
    return folder;
  }
  // What makes the folder that the bits are compared with.
  virtual ConvertKernels kernels(const QuantizeOptions&) { return scalar_kernels(); }
  void expect_bits(const QuantizeOptions& options) {
    input_scale_ = options.input_scale;
    const TestTensors want = written(folder_of(options));
    const auto got = run({options.scheme});
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_FALSE(want.empty());
    EXPECT_TRUE(*got == want) << config_;
  }
  void expect_bits_of_each_form() {
    add_experts();
    for (QuantizeOptions options : forms_of_new_weights()) {
      options.input_scale = 0.25f;
      expect_bits(options);
    }
  }
  void expect_bits_of_two_formats_in_one_folder() {
    QuantizeOptions options;
    options.config = EngineConfig::modelopt;
    options.input_scale = 0.25f;
    options.mxfp8 = {"*.self_attn.*"};
    expect_bits(options);
  }

  std::shared_ptr<CountingDevice> device_;
  Stream stream_;
  const std::string model_ = folder_ / "model", small_ = folder_ / "small";
  TestTensors weights_;
  std::vector<NewWeight> given_;
  std::map<std::string, float> amaxes_;
  std::string config_;
  float input_scale_ = 1.0f;

 private:
  Result<TestTensors> read(const QuantizeFor& op, const std::vector<void*>& outputs) {
    TestTensors out;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const TensorInfo& info = op.outputs()[i];
      std::string bytes(info.bytes(), '\0');
      DIECAST_CHECK(device_->copy_to_host(bytes.data(), outputs[i], bytes.size(), stream_));
      DIECAST_CHECK(device_->synchronize(stream_));
      out[info.name] = {std::string(stored_dtype_name(info.dtype)), info.shape, std::move(bytes)};
    }
    return out;
  }
};

}  // namespace diecast::testing
