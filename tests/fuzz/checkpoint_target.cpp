// Plans and verdicts of what nobody has to believe; see checkpoint_target.h.
#include "fuzz/checkpoint_target.h"

#include <diecast/base/text.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/safetensors_header.h>
#include <diecast/checkpoint/verify/found_weights.h>
#include <diecast/checkpoint/verify/gaps.h>
#include <diecast/checkpoint/verify/said_config.h>

#include <algorithm>

#include "fuzz/targets.h"

namespace diecast::testing {
namespace {

template <class Value>
void must_have_a_fix(const Result<Value>& result) {
  must(result || !result.error().fix.empty());
}

std::string with_size(const std::string& json, std::uint64_t data) {
  const std::uint64_t bytes = 8 + json.size() + data;
  return std::string(reinterpret_cast<const char*>(&bytes), 8) + json;
}

std::string tensor(std::string_view name, std::string_view dtype, std::string_view shape,
                   std::uint64_t begin, std::uint64_t end) {
  return cat("\"model.layers.0.mlp.", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
             ",\"data_offsets\":[", begin, ",", end, "]}");
}

// Of what stands beside an embedding, whatever number of layers a config says.
void look_for_gaps(CheckpointHeader named) {
  named.tensors.push_back({"model.embed_tokens.weight", StoredDType::bf16, {8, 32}});
  std::ranges::stable_sort(named.tensors, {}, &TensorInfo::name);
  for (const std::uint64_t layers : {std::uint64_t{2}, ~std::uint64_t{0}}) {
    ModelConfig config;
    config.layers = layers;
    if (layers == 2) config.experts = layers;
    const auto model = LanguageModel::find(named, config, false);
    must(bool(model));
    for (const Gap& gap : gaps_of(named, *model, config)) must(gap.count > 0);
  }
}

}  // namespace

void fuzz_config(std::string_view input) {
  parse_model_config(input);
  const auto said = said_by_model_config(input);
  must_have_a_fix(said);
  if (!said || !*said) return;
  for (const char* module : {"lm_head", "model.layers.0.mlp.gate_up_proj", "a.experts"})
    for (const Engine engine : kEngines) {
      const Ignored found = (*said)->ignored(engine, module);
      if (engine == Engine::vllm && (*said)->form_of(module)) must(found == Ignored::no);
    }
}

std::vector<std::string> config_seeds() {
  return {
      R"({"num_hidden_layers":2,"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})",
      R"({"text_config":{"quantization_config":{"quant_method":"compressed-tensors","format":"nvfp4-pack-quantized","ignore":["re:.*lm_head"],"config_groups":{"group_0":{"input_activations":null}}}}})",
      R"({"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"a":{"format":"float-quantized","targets":["re:.*attn.*"],"weights":{"num_bits":8,"type":"float","strategy":"block","block_structure":[128,128]}},"b":{"format":"nvfp4-pack-quantized","targets":["Linear"]}}}})",
      R"({"quantization_config":{"quant_method":"modelopt_mixed","quant_algo":"MIXED_PRECISION","quantized_layers":{"a.experts.0.w1":{"quant_algo":"FP8_PB_WO"}},"ignore":["*.gate"]}})",
      R"({"quantization_config":{"quant_method":"mxfp8","modules_to_not_convert":["lm_head"]}})"};
}

void fuzz_weights(std::string_view input) {
  if (input.size() < 8) return;
  std::uint64_t bytes = 0;
  std::copy_n(input.data(), 8, reinterpret_cast<char*>(&bytes));
  auto read = parse_header(input.substr(8), bytes, "fuzz.safetensors");
  if (!read) return;
  const CheckpointHeader header(std::move(*read));
  for (const bool keeps : {false, true}) {
    QuantizeOptions options;
    options.keep_fp8 = keeps;
    if (keeps) options.keep = {"*"};
    options.model.readable = true;
    must_have_a_fix(plan_quantize(header, options));
  }
  must_have_a_fix(plan_dequantize(header, DType::bf16));
  const FoundWeights found = find_weights(header);
  look_for_gaps(found.named);
  for (const FoundWeight& weight : found.weights) {
    for (const EngineConfig config : {EngineConfig::modelopt, EngineConfig::gpt_oss})
      part_faults(header, weight, StoredForm{WeightFormat::mxfp4, config});
    for (const Fp8Names names : {Fp8Names::modelopt, Fp8Names::compressed_tensors, Fp8Names::fp8})
      part_faults(header, weight, Fp8Layout{Fp8Form::blocks, names, true});
  }
}

std::vector<std::string> weights_seeds() {
  return {with_size(cat("{", tensor("up_proj.weight", "F8_E4M3", "[128,128]", 0, 16384), ",",
                        tensor("up_proj.weight_scale_inv", "F32", "[1,1]", 16384, 16388), "}"),
                    16388),
          with_size(cat("{", tensor("experts.0.up_proj.weight", "BF16", "[4,16]", 0, 128), ",",
                        tensor("experts.2.gate_proj.weight", "BF16", "[4,16]", 128, 256), ",",
                        tensor("experts.down_proj", "F32", "[]", 256, 260), "}"),
                    260),
          with_size(cat("{", tensor("up_proj.weight_packed", "I32", "[4,8]", 0, 128), ",",
                        tensor("up_proj.weight_scale", "BF16", "[4,2]", 128, 144), "}"),
                    144),
          with_size(cat("{", tensor("experts.down_proj_blocks", "U8", "[2,4,1,16]", 0, 128), ",",
                        tensor("experts.down_proj_scales", "U8", "[2,4,1]", 128, 136), "}"),
                    136),
          with_size(cat("{", tensor("up_proj.weight", "U8", "[4,16]", 0, 64), ",",
                        tensor("up_proj.weight_scale", "F8_E4M3", "[4,2]", 64, 72), ",",
                        tensor("up_proj.weight_scale_2", "F32", "[]", 72, 76), "}"),
                    76)};
}

}  // namespace diecast::testing
