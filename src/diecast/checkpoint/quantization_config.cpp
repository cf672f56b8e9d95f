// Both forms of the one config; see quantization_config.h.
#include <diecast/base/text.h>
#include <diecast/base/version.h>
#include <diecast/checkpoint/quantization_config.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/select/families.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

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

Json producer() { return {{"name", "diecast"}, {"version", library_version()}}; }

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

// "a.mlp.experts" of "a.mlp.experts.7.up_proj": one module to an engine. Empty: there is none.
std::string experts_of(const std::string& module) {
  constexpr std::string_view kExperts = ".experts.";
  const std::size_t at = module.find(kExperts);
  return at == module.npos ? "" : module.substr(0, at + kExperts.size() - 1);
}

// Adds to modules that stay as they are those that an engine makes of them, if none of their parts
// is quantized: engines look for these names too, and not all of them for those of the parts.
void add_fused(std::set<std::string>& modules, const std::set<std::string>& quantized,
               const std::function<bool(const std::string&)>& is_in) {
  std::set<std::string> more;
  for (const std::string& module : modules) {
    if (const std::string experts = experts_of(module); !experts.empty()) {
      if (!is_in(experts)) more.insert(experts);
      continue;
    }
    const std::string parent = module.substr(0, module.rfind('.') + 1);
    for (const ProjectionFamily& family : kProjectionFamilies) {
      if (family.fused.empty() || !family.beside.empty()) continue;
      const auto named = [&](std::string_view part) { return module == cat(parent, part); };
      const auto becomes = [&](std::string_view part) {
        return quantized.count(cat(parent, part, kWeightSuffix)) != 0;
      };
      if (std::ranges::any_of(family.roles(), named) &&
          std::ranges::none_of(family.roles(), becomes))
        more.insert(cat(parent, family.fused));
    }
  }
  modules.merge(more);
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
    if (tensor.action != Action::copy || tensor.shape.size() < 2 || dot == tensor.name.npos)
      continue;
    const std::string module = tensor.name.substr(0, dot);
    const bool named = tensor.name.ends_with(kWeightSuffix);
    if (named || (float_dtype(tensor.dtype) && !is_in(module))) out.insert(module);
  }
  add_fused(out, quantized, is_in);
  out.insert("lm_head");  // of a model that ties it to its embedding there is no tensor
  return {out.begin(), out.end()};
}

std::optional<std::string> hf_quant_config(const Plan& plan) {
  if (!is_engine_form(plan)) return std::nullopt;
  return config_text({{"producer", producer()},
                      {"quantization",
                       {{"quant_algo", "NVFP4"},
                        {"kv_cache_quant_algo", nullptr},
                        {"group_size", 16},
                        {"exclude_modules", unquantized_modules(plan)}}}});
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

std::optional<std::string> plain_model_config(std::string_view config) {
  std::optional<Json> whole = parse_config(config);
  if (!whole || !has_config(*whole) || !says_nvfp4((*whole)[kConfig])) return std::nullopt;
  whole->erase(kConfig);
  return config_text(*whole);
}

}  // namespace diecast
