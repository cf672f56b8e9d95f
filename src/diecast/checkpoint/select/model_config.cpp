// The language model's own config first, then what stands around it; see model_config.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/block_size.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/select/model_config.h>

#include <initializer_list>
#include <vector>

namespace diecast {
namespace {

std::optional<std::uint64_t> number_in(const std::vector<const ConfigJson*>& levels,
                                       std::initializer_list<std::string_view> names) {
  for (const ConfigJson* level : levels) {
    for (const std::string_view name : names) {
      const ConfigJson* found = member(*level, name);
      if (found != nullptr && found->is_number_unsigned()) return found->get<std::uint64_t>();
    }
  }
  return std::nullopt;
}

std::string text_in(const std::vector<const ConfigJson*>& levels, std::string_view name) {
  for (const ConfigJson* level : levels) {
    const ConfigJson* found = member(*level, name);
    if (found != nullptr && found->is_string()) return found->get<std::string>();
  }
  return {};
}

// Of a key whose value is neither null, false nor 0.
bool says_any(const std::vector<const ConfigJson*>& levels,
              std::initializer_list<std::string_view> names) {
  for (const ConfigJson* level : levels) {
    for (const std::string_view name : names) {
      const ConfigJson* found = member(*level, name);
      if (found != nullptr && !found->is_null() && *found != false && *found != 0) return true;
    }
  }
  return false;
}

bool is_readable_layout(std::string_view format) {
  return format == "float-quantized" || format == "mxfp8-quantized" || format == "pack-quantized" ||
         format == "mxfp4-pack-quantized";
}

// compressed-tensors says a format for all of the model, or each group its own.
bool is_readable_in_groups(const ConfigJson& config) {
  const ConfigJson* const groups = member(config, "config_groups");
  return text_at(config, "format") == "mixed-precision" && groups != nullptr &&
         groups->is_object() && !groups->empty() &&
         std::ranges::all_of(*groups, [](const ConfigJson& group) {
           return is_readable_layout(text_at(group, "format"));
         });
}

bool is_readable(const ConfigJson& config) {
  const std::string how = text_at(config, "quant_method");
  const std::string algorithm = text_at(config, "quant_algo");
  return how == "fp8" || how == "mxfp4" || how == "mxfp8" ||
         (how == "compressed-tensors" &&
          (is_readable_layout(text_at(config, "format")) || is_readable_in_groups(config))) ||
         (how == "modelopt" && (algorithm == "FP8" || algorithm == "MXFP8"));
}

// Of all weights or of some layers, in a config or in ModelOpt's hf_quant_config.json.
bool has_nvfp4(const ConfigJson& config) {
  const ConfigJson* const inner = member(config, "quantization");
  const ConfigJson& said = inner == nullptr ? config : *inner;
  const ConfigJson* const layers = member(said, "quantized_layers");
  return says_nvfp4(said) || (layers != nullptr && std::ranges::any_of(*layers, says_nvfp4));
}

// compressed-tensors names no other tool than itself.
std::string producer_in(const ConfigJson& config) {
  const std::string method = text_at(config, "quant_method");
  if (method == "compressed-tensors") return method;
  const ConfigJson* const producer = member(config, "producer");
  return producer == nullptr ? "" : text_at(*producer, "name");
}

// Which key says it, and what.
std::string quantized_by_key(const ConfigJson& whole, ModelConfig& out) {
  const auto all = quantization_configs(whole);
  if (all.empty()) return {};
  const auto& [key, config] = all.front();
  out.readable = is_readable(*config);
  out.nvfp4 = has_nvfp4(*config);
  read_block_size(*config, out);
  out.producer = producer_in(*config);
  const std::string how = text_at(*config, "quant_method"), format = text_at(*config, "format");
  return cat(key, ", which says ", how.empty() ? "something else" : quote(how, 40),
             format.empty() ? "" : cat(" ", quote(format, 40)));
}

}  // namespace

ModelConfig parse_model_config(std::string_view config) {
  ModelConfig out;
  const std::optional<ConfigJson> whole = parse_config(config);
  if (!whole) return out;
  const auto levels = config_levels(*whole);
  out.model_type = text_in(levels, "model_type");
  out.encoder_layers = number_in(levels, {"encoder_layers"});
  out.decoder_layers = number_in(levels, {"decoder_layers", "num_decoder_layers"});
  out.layers = number_in(levels, {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                  "decoder_layers", "num_decoder_layers"});
  out.hidden_size = number_in(levels, {"hidden_size", "d_model", "n_embd", "dim"});
  out.vocab_size = number_in(levels, {"vocab_size", "padded_vocab_size"});
  out.experts = number_in(
      levels, {"num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"});
  out.shares_keys = says_any(levels, {"num_kv_shared_layers", "attention_k_eq_v", "use_cla"});
  out.quantized = quantized_by_key(*whole, out);
  return out;
}

Result<ModelConfig> read_model_config(const Checkpoint& checkpoint, FileSystem& files) {
  ModelConfig out;
  if (!checkpoint.in_folder()) return out;
  const auto text_of = [&](std::string_view name) -> Result<std::string> {
    const auto read = read_file(files, cat(checkpoint.folder(), "/", name), kConfigLimit);
    if (read) return std::string(file_text(*read));
    if (read.error().code == ErrorCode::file_not_found) return std::string();
    return read.error();
  };
  DIECAST_TRY(const std::string config, text_of(kModelConfig));
  out = parse_model_config(config);
  DIECAST_TRY(const std::string quantization, text_of(kQuantConfig));
  if (out.quantized.empty() && !quantization.empty()) out.quantized = std::string(kQuantConfig);
  if (const auto said = parse_config(quantization)) {
    if (out.producer.empty()) out.producer = producer_in(*said);
    out.nvfp4 = out.nvfp4 || has_nvfp4(*said);
  }
  return out;
}

}  // namespace diecast
