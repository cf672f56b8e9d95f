// Both forms of the one config; see quantization_config.h.
#include <diecast/base/text.h>
#include <diecast/base/version.h>
#include <diecast/checkpoint/quantization_config.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/select/ignore_list.h>

#include <algorithm>
#include <cctype>

namespace diecast {
namespace {

using Json = ConfigJson;
constexpr const char* kConfig = "quantization_config";

bool has_config(const Json& whole) {
  const auto found = whole.find(kConfig);
  return found != whole.end() && !found->is_null();
}

bool is_engine_form(const Plan& plan) {
  const auto quantized = [](const PlannedTensor& t) { return t.action == Action::quantize; };
  const auto first = std::ranges::find_if(plan.tensors, quantized);
  return first != plan.tensors.end() && !first->row_scaled;
}

const char* algorithm(const Plan& plan) { return plan.weights_only ? "W4A16_NVFP4" : "NVFP4"; }

Json producer() { return {{"name", "diecast"}, {"version", library_version()}}; }

// In config.json, where compressed-tensors' keys stand beside ModelOpt's.
Json quantization_config(const Plan& plan) {
  const Json four_bits = {
      {"dynamic", false}, {"num_bits", 4}, {"type", "float"}, {"group_size", 16}};
  Json group = {{"weights", four_bits}, {"targets", Json::array({"Linear"})}};
  if (!plan.weights_only) group["input_activations"] = four_bits;
  return {{"config_groups", {{"group_0", group}}},
          {"ignore", ignore_list(engine_modules(plan))},
          {"quant_algo", algorithm(plan)},
          {"group_size", 16},
          {"producer", producer()},
          {"quant_method", "modelopt"}};
}

// "NVFP4", "W4A16_NVFP4" and in lower case.
bool says_nvfp4(const Json& config) {
  if (!config.is_object()) return false;
  const auto algorithm = config.find("quant_algo");
  if (algorithm == config.end() || !algorithm->is_string()) return false;
  std::string text = algorithm->get<std::string>();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text == "NVFP4" || text == "W4A16_NVFP4";
}

}  // namespace

std::optional<std::string> hf_quant_config(const Plan& plan) {
  if (!is_engine_form(plan)) return std::nullopt;
  return config_text({{"producer", producer()},
                      {"quantization",
                       {{"quant_algo", algorithm(plan)},
                        {"kv_cache_quant_algo", nullptr},
                        {"group_size", 16},
                        {"exclude_modules", ignore_list(engine_modules(plan))}}}});
}

std::optional<std::string> quantized_model_config(std::string_view config, const Plan& plan) {
  std::optional<Json> whole = parse_config(config);
  if (!whole) return std::nullopt;
  const bool changed = drop_quantization_configs(*whole);
  if (is_engine_form(plan)) (*whole)[kConfig] = quantization_config(plan);
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
