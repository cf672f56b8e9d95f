// Both forms of the one config; see quantization_config.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/quantization_config.h>
#include <diecast/checkpoint/safetensors_header.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace diecast {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kConfig = "quantization_config";

std::optional<Json> parse_object(std::string_view text) {
  bool deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kHeaderDepthLimit;
    return !deep;
  };
  Json whole = Json::parse(text, shallow, false);
  if (deep || !whole.is_object()) return std::nullopt;
  return whole;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_engine_form(const Plan& plan) {
  const auto quantized = [](const PlannedTensor& t) { return t.action == Action::quantize; };
  const auto first = std::ranges::find_if(plan.tensors, quantized);
  return first != plan.tensors.end() && !first->row_scaled;
}

Json producer() { return {{"name", "diecast"}, {"version", DIECAST_VERSION}}; }

// In config.json, where compressed-tensors' keys stand beside ModelOpt's.
Json quantization_config(const Plan& plan) {
  const Json four_bits = {
      {"dynamic", false}, {"num_bits", 4}, {"type", "float"}, {"group_size", 16}};
  const Json group = {{"input_activations", four_bits},
                      {"weights", four_bits},
                      {"targets", Json::array({"Linear"})}};
  return {{"config_groups", {{"group_0", group}}},
          {"ignore", unquantized_modules(plan)},
          {"quant_algo", "NVFP4"},
          {"group_size", 16},
          {"producer", producer()},
          {"quant_method", "modelopt"}};
}

}  // namespace

std::vector<std::string> unquantized_modules(const Plan& plan) {
  std::set<std::string> quantized, out;
  for (const PlannedTensor& tensor : plan.tensors)
    if (tensor.action == Action::quantize) quantized.insert(tensor.name);
  const auto is_in = [&](const std::string& module) {
    const auto first = quantized.lower_bound(module + ".");
    return first != quantized.end() && first->starts_with(module + ".");
  };
  for (const PlannedTensor& tensor : plan.tensors) {
    const std::size_t dot = tensor.name.rfind('.');
    if (tensor.action != Action::copy || tensor.shape.size() < 2 || !float_dtype(tensor.dtype) ||
        dot == tensor.name.npos)
      continue;
    const std::string module = tensor.name.substr(0, dot);
    if (tensor.name.ends_with(kWeightSuffix) || !is_in(module)) out.insert(module);
  }
  return {out.begin(), out.end()};
}

std::optional<std::string> hf_quant_config(const Plan& plan) {
  if (!is_engine_form(plan)) return std::nullopt;
  return text_of({{"producer", producer()},
                  {"quantization",
                   {{"quant_algo", "NVFP4"},
                    {"kv_cache_quant_algo", nullptr},
                    {"group_size", 16},
                    {"exclude_modules", unquantized_modules(plan)}}}});
}

std::optional<std::string> quantized_model_config(std::string_view config, const Plan& plan) {
  std::optional<Json> whole = parse_object(config);
  if (!is_engine_form(plan) || !whole || whole->contains(kConfig)) return std::nullopt;
  (*whole)[kConfig] = quantization_config(plan);
  return text_of(*whole);
}

bool says_nvfp4(const Json& config) {
  if (!config.is_object()) return false;
  const auto inner = config.find("quantization");
  const Json& said = inner == config.end() ? config : *inner;
  const auto algorithm = said.is_object() ? said.find("quant_algo") : said.end();
  return algorithm != said.end() && algorithm->is_string() &&
         algorithm->get_ref<const std::string&>() == "NVFP4";
}

std::optional<std::string> plain_model_config(std::string_view config) {
  std::optional<Json> whole = parse_object(config);
  if (!whole || !whole->contains(kConfig) || !says_nvfp4((*whole)[kConfig])) return std::nullopt;
  whole->erase(kConfig);
  return text_of(*whole);
}

}  // namespace diecast
