// Both forms of the one config; see quantization_config.h.
#include <diecast/base/text.h>
#include <diecast/base/version.h>
#include <diecast/checkpoint/quantization_config.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/select/ignore_list.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace diecast {
namespace {

using Json = ConfigJson;
constexpr const char* kConfig = "quantization_config";

bool has_config(const Json& whole) {
  const auto found = whole.find(kConfig);
  return found != whole.end() && !found->is_null();
}

const char* algorithm(WeightFormat format) {
  switch (format) {
    case WeightFormat::nvfp4:
      return "NVFP4";
    case WeightFormat::nvfp4_w4a16:
      return "W4A16_NVFP4";
    case WeightFormat::mxfp8:
      return "MXFP8";
    case WeightFormat::mxfp4:
      return "MXFP4";
  }
  return "";
}

bool is_mixed(const Plan& plan) {
  return std::ranges::any_of(plan.tensors, [&](const PlannedTensor& tensor) {
    return tensor.fp8 ||
           (tensor.action == Action::quantize && tensor.form.format != plan.form.format);
  });
}

// As engines know them.
template <class Wanted>
std::set<std::string> modules_of(const Plan& plan, Wanted wanted) {
  Plan one;
  std::ranges::copy_if(plan.tensors, std::back_inserter(one.tensors), wanted);
  return engine_modules(one).quantized;
}

// What each module is of two formats; also those that engines make of several.
Json quantized_layers(const Plan& plan) {
  std::map<std::string, Json> out;
  for (const WeightFormat format : {plan.form.format, WeightFormat::mxfp8}) {
    for (const std::string& module : modules_of(plan, [&](const PlannedTensor& tensor) {
           return tensor.action == Action::quantize && tensor.form.format == format;
         }))
      out[module] = {{"quant_algo", algorithm(format)}, {"group_size", scale_block(format)}};
  }
  for (const Fp8Form form : {Fp8Form::tensor, Fp8Form::rows, Fp8Form::blocks}) {
    for (const std::string& module :
         modules_of(plan, [&](const PlannedTensor& tensor) { return tensor.fp8 == form; })) {
      out[module] = {{"quant_algo", word(form)}};
      if (form == Fp8Form::blocks) out[module]["group_size"] = 128;
    }
  }
  return out;
}

Json producer() { return {{"name", "diecast"}, {"version", library_version()}}; }

// In config.json, where compressed-tensors' keys stand beside ModelOpt's.
// SGLang asks for this method's name, and vLLM takes it for ModelOpt's.
Json mixed_config(const Plan& plan) {
  return {{"ignore", ignore_list(engine_modules(plan))},
          {"quant_algo", "MIXED_PRECISION"},
          {"quantized_layers", quantized_layers(plan)},
          {"producer", producer()},
          {"quant_method", "modelopt_mixed"}};
}

Json modelopt_config(const Plan& plan) {
  if (is_mixed(plan)) return mixed_config(plan);
  const bool mx = is_mx(plan.form.format);
  const std::uint64_t block = scale_block(plan.form.format);
  const Json numbers = {
      {"dynamic", false}, {"num_bits", mx ? 8 : 4}, {"type", "float"}, {"group_size", block}};
  Json group = {{"weights", numbers}, {"targets", Json::array({"Linear"})}};
  if (plan.form.format != WeightFormat::nvfp4_w4a16) group["input_activations"] = numbers;
  if (mx) group["input_activations"]["dynamic"] = true;
  return {{"config_groups", {{"group_0", group}}},
          {"ignore", ignore_list(engine_modules(plan))},
          {"quant_algo", algorithm(plan.form.format)},
          {"group_size", block},
          {"producer", producer()},
          {"quant_method", "modelopt"}};
}

// Activations of MXFP8 are scaled as they come, those of NVFP4 block by block below a given scale.
// MXFP4 leaves them alone.
Json compressed_tensors_config(const Plan& plan) {
  const WeightFormat format = plan.form.format;
  const bool bytes = format == WeightFormat::mxfp8, mx = is_mx(format);
  const Json weights = {{"num_bits", bytes ? 8 : 4},
                        {"type", "float"},
                        {"strategy", mx ? "group" : "tensor_group"},
                        {"group_size", scale_block(format)},
                        {"symmetric", true},
                        {"dynamic", false},
                        {"scale_dtype", mx ? "torch.uint8" : "torch.float8_e4m3fn"}};
  Json inputs;
  if (bytes || format == WeightFormat::nvfp4) {
    inputs = weights;
    inputs["dynamic"] = bytes ? Json(true) : Json("local");
  }
  const char* const layout = bytes ? "mxfp8-quantized"
                             : mx  ? "mxfp4-pack-quantized"
                                   : "nvfp4-pack-quantized";
  const Json group = {{"targets", Json::array({"Linear"})},
                      {"weights", weights},
                      {"input_activations", inputs},
                      {"output_activations", nullptr},
                      {"format", layout}};
  return {{"config_groups", {{"group_0", group}}},
          {"format", layout},
          {"ignore", ignore_patterns(engine_modules(plan))},
          {"kv_cache_scheme", nullptr},
          {"quant_method", "compressed-tensors"},
          {"quantization_status", "compressed"}};
}

Json sglang_config(const Plan& plan) {
  return {
      {"activation_scheme", "dynamic"}, {"fmt", "e4m3"},
      {"quant_method", "mxfp8"},        {"weight_block_size", {1, 32}},
      {"scale_fmt", "ue8m0"},           {"modules_to_not_convert", engine_modules(plan).others}};
}

// Of gpt-oss, as its authors publish it.
Json gpt_oss_config() {
  return {
      {"quant_method", "mxfp4"},
      {"modules_to_not_convert",
       {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}}};
}

Json quantization_config(const Plan& plan) {
  switch (plan.form.config) {
    case EngineConfig::modelopt:
      return modelopt_config(plan);
    case EngineConfig::compressed_tensors:
      return compressed_tensors_config(plan);
    case EngineConfig::sglang:
      return sglang_config(plan);
    case EngineConfig::gpt_oss:
      return gpt_oss_config();
  }
  return {};
}

// What another tool has said of the cache of keys and values, whose scales are copied; null:
// nothing.
Json kv_cache_scheme(const Json& whole) {
  for (const auto& [key, config] : quantization_configs(whole)) {
    const Json* const found = member(*config, "kv_cache_scheme");
    if (found != nullptr && found->is_object()) return *found;
  }
  return {};
}

}  // namespace

bool is_engine_form(const Plan& plan) {
  const auto quantized = [](const PlannedTensor& t) { return t.action == Action::quantize; };
  const auto first = std::ranges::find_if(plan.tensors, quantized);
  return first != plan.tensors.end() && !first->row_scaled;
}

std::optional<std::string> hf_quant_config(const Plan& plan, std::string_view config) {
  if (!is_engine_form(plan) || plan.form.config != EngineConfig::modelopt) return std::nullopt;
  Json said = {{"quant_algo", algorithm(plan.form.format)},
               {"kv_cache_quant_algo", nullptr},
               {"group_size", scale_block(plan.form.format)},
               {"exclude_modules", ignore_list(engine_modules(plan))}};
  const std::optional<Json> whole = parse_config(config);
  const Json cache = whole ? kv_cache_scheme(*whole) : Json();
  const Json *const bits = member(cache, "num_bits"), *const type = member(cache, "type");
  if (bits != nullptr && *bits == 8 && type != nullptr && *type == "float")
    said["kv_cache_quant_algo"] = "FP8";
  if (is_mixed(plan)) {
    said["quant_algo"] = "MIXED_PRECISION";
    said["quantized_layers"] = quantized_layers(plan);
  }
  return config_text({{"producer", producer()}, {"quantization", said}});
}

std::optional<std::string> quantized_model_config(std::string_view config, const Plan& plan) {
  std::optional<Json> whole = parse_config(config);
  if (!whole) return std::nullopt;
  const Json cache = kv_cache_scheme(*whole);
  const bool changed = drop_quantization_configs(*whole);
  if (is_engine_form(plan)) {
    Json& said = (*whole)[kConfig] = quantization_config(plan);
    if (!cache.is_null()) said["kv_cache_scheme"] = cache;
  }
  return is_engine_form(plan) || changed ? std::optional(config_text(*whole)) : std::nullopt;
}

Quantized quantized_by(std::string_view text) {
  const std::optional<Json> whole = parse_config(text);
  if (!whole) return Quantized::no;
  const auto inner = whole->find("quantization");
  if (inner != whole->end()) return says_nvfp4(*inner) ? Quantized::nvfp4 : Quantized::other;
  if (!has_config(*whole)) return Quantized::no;
  return says_nvfp4((*whole)[kConfig]) ? Quantized::nvfp4 : Quantized::other;
}

std::optional<std::string> plain_model_config(std::string_view config, bool any) {
  std::optional<Json> whole = parse_config(config);
  if (any && whole && drop_quantization_configs(*whole)) return config_text(*whole);
  if (!whole || !has_config(*whole) || !says_nvfp4((*whole)[kConfig])) return std::nullopt;
  whole->erase(kConfig);
  return config_text(*whole);
}

}  // namespace diecast
