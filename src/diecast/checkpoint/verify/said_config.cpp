// Three dialects of one statement; see said_config.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/verify/said_config.h>
#include <regex.h>

#include <algorithm>

namespace diecast {
namespace {

Error not_known(const std::string& method, const std::string& algorithm) {
  return {ErrorCode::not_supported,
          cat("the model's config says ", quote(method, 40), " ", quote(algorithm, 40),
              ", of which no rules are known"),
          "give a folder in NVFP4, MXFP8 or MXFP4 that `diecast quantize`, ModelOpt or "
          "compressed-tensors wrote"};
}

std::optional<WeightFormat> format_of(const std::string& algorithm) {
  if (algorithm == "NVFP4") return WeightFormat::nvfp4;
  if (algorithm == "W4A16_NVFP4") return WeightFormat::nvfp4_w4a16;
  if (algorithm == "MXFP8") return WeightFormat::mxfp8;
  return std::nullopt;
}

// `at`: the config itself, or what hf_quant_config.json has as "quantization".
Result<SaidConfig> said_by_modelopt(const ConfigJson& at) {
  SaidConfig out;
  const std::string algorithm = text_at(at, "quant_algo");
  add_texts(at, "ignore", out.ignore);
  add_texts(at, "exclude_modules", out.ignore);
  out.mixed = algorithm == "MIXED_PRECISION";
  if (!out.mixed) {
    const std::optional<WeightFormat> format = format_of(algorithm);
    if (!format) return not_known("modelopt", algorithm);
    out.form.format = *format;
    return out;
  }
  const ConfigJson* const layers = member(at, "quantized_layers");
  if (layers == nullptr || !layers->is_object()) return not_known("modelopt", algorithm);
  for (const auto& [module, what] : layers->items()) {
    const std::optional<WeightFormat> format = format_of(text_at(what, "quant_algo"));
    if (!format) return not_known("modelopt", text_at(what, "quant_algo"));
    out.layers.emplace(module, *format);
    if (!is_mx(*format)) out.form.format = *format;
  }
  return out;
}

Result<SaidConfig> said_by_compressed_tensors(const ConfigJson& config) {
  SaidConfig out;
  out.form.config = EngineConfig::compressed_tensors;
  add_texts(config, "ignore", out.ignore);
  const std::string layout = text_at(config, "format");
  const ConfigJson* const groups = member(config, "config_groups");
  if (groups == nullptr || !groups->is_object() || groups->size() != 1)
    return not_known("compressed-tensors", layout);
  const ConfigJson* const inputs = member(groups->front(), "input_activations");
  const bool weights_only = inputs == nullptr || inputs->is_null();
  if (layout == "nvfp4-pack-quantized")
    out.form.format = weights_only ? WeightFormat::nvfp4_w4a16 : WeightFormat::nvfp4;
  else if (layout == "mxfp8-quantized")
    out.form.format = WeightFormat::mxfp8;
  else if (layout == "mxfp4-pack-quantized")
    out.form.format = WeightFormat::mxfp4;
  else
    return not_known("compressed-tensors", layout);
  return out;
}

// A match of compressed-tensors' expression at the name's beginning, as Python's re.match. One that
// POSIX does not know, or that costs more than a name is worth, matches nothing.
bool begins_with(const std::string& expression, const std::string& name) {
  constexpr std::size_t kLongest = 1000;
  if (expression.size() > kLongest || expression.find('{') != expression.npos) return false;
  regex_t compiled;
  if (::regcomp(&compiled, expression.c_str(), REG_EXTENDED) != 0) return false;
  regmatch_t found;
  const bool matches = ::regexec(&compiled, name.c_str(), 1, &found, 0) == 0 && found.rm_so == 0;
  ::regfree(&compiled);
  return matches;
}

bool is_listed(const std::string& entry, const std::string& module) {
  constexpr std::string_view kExpression = "re:";
  return entry.starts_with(kExpression) ? begins_with(entry.substr(kExpression.size()), module)
                                        : entry == module;
}

}  // namespace

Ignored SaidConfig::ignored(Engine engine, const std::string& module) const {
  if (mixed) return layers.contains(module) ? Ignored::no : Ignored::yes;
  if (form.config == EngineConfig::modelopt) return ignored_by(engine, ignore, module);
  const auto listed = [&](const std::string& entry) { return is_listed(entry, module); };
  return std::ranges::any_of(ignore, listed) ? Ignored::yes : Ignored::no;
}

std::optional<StoredForm> SaidConfig::form_of(const std::string& module) const {
  if (ignored(Engine::vllm, module) != Ignored::no) return std::nullopt;
  return mixed ? StoredForm{layers.at(module), form.config} : form;
}

Result<SaidConfig> said_config(const ConfigJson& config) {
  if (const ConfigJson* inner = member(config, "quantization")) return said_by_modelopt(*inner);
  const std::string method = text_at(config, "quant_method");
  if (method == "modelopt" || method == "modelopt_mixed") return said_by_modelopt(config);
  if (method == "compressed-tensors") return said_by_compressed_tensors(config);
  if (method != "mxfp8") return not_known(method, text_at(config, "quant_algo"));
  SaidConfig out;
  out.form = {WeightFormat::mxfp8, EngineConfig::sglang};
  add_texts(config, "modules_to_not_convert", out.ignore);
  return out;
}

Result<std::optional<SaidConfig>> said_by_model_config(std::string_view text) {
  const std::optional<ConfigJson> whole = parse_config(text);
  if (!whole) return std::optional<SaidConfig>();
  const auto all = quantization_configs(*whole);
  if (all.empty()) return std::optional<SaidConfig>();
  DIECAST_TRY(SaidConfig said, said_config(*all.front().config));
  return std::optional(std::move(said));
}

}  // namespace diecast
