// Names of modules, from ModelOpt's recipes and from what vLLM and SGLang build without a
// quantization config.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/keep_list.h>

#include <algorithm>
#include <array>
#include <string>

namespace diecast {
namespace {

struct Kept {
  std::string_view word;
  bool whole;  // the component, not a part of it
  std::string_view kind;
};

constexpr std::string_view kAdapter = "an adapter", kConv = "a convolution",
                           kEmbedding = "an embedding", kHead = "the output head",
                           kLatent = "a latent projection", kRouter = "a router",
                           kState = "a parameter of the state space", kTable = "a table";

// The first that fits says what it is. In lower case, as the names are compared.
constexpr Kept kKept[] = {
    {"embed", false, kEmbedding},
    {"wte", true, kEmbedding},
    {"wpe", true, kEmbedding},
    {"router", false, kRouter},
    {"gate", true, kRouter},
    {"shared_expert_gate", true, kRouter},
    {"lm_head", true, kHead},
    {"conv", false, kConv},
    {"in_proj_a", true, kState},
    {"in_proj_b", true, kState},
    {"in_proj_ba", true, kState},
    {"x_proj", true, kState},
    {"dt_proj", true, kState},
    {"kv_b_proj", true, "absorbed by engines, who read it as floating point"},
    {"wkv_b", true, "absorbed by engines, who read it as floating point"},
    {"wo_a", true, "absorbed by engines, who read it as floating point"},
    {"weights_proj", true, kIndexerPart},
    {"compressor", true, "a compressor"},
    {"f_b_proj", true, "a gate's projection"},
    {"latent_proj", false, kLatent},
    {"lora", false, kAdapter},
    {"adapter", false, kAdapter},
    {"position", false, kTable},
    {"relative_attention_bias", true, kTable},
};

constexpr std::array<std::string_view, 9> kHeads = {"lm_head",      "embed_out", "output",
                                                    "output_layer", "head",      "score",
                                                    "proj_out",     "head_proj", "lm_head_proj"};
constexpr std::array<std::string_view, 10> kVision = {
    "embed_vision", "vision_tower",          "visual",         "vision_model", "vision_encoder",
    "audio_tower",  "multi_modal_projector", "vision_adapter", "mlp1",         "sam_model"};

constexpr std::array<std::string_view, 11> kMlps = {"mlp",
                                                    "feed_forward",
                                                    "block_sparse_moe",
                                                    "ffn",
                                                    "moe",
                                                    "shared_expert",
                                                    "shared_experts",
                                                    "intermediate",
                                                    "DenseReluDense",
                                                    "fc1",
                                                    "fc2"};
constexpr std::array<std::string_view, 3> kOutputs = {"o_proj", "wo", "out_proj"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// "self_attn.indexer.wk", which engines join to weights_proj.
bool is_indexer_key(const std::vector<std::string_view>& parts) {
  const auto indexer = std::ranges::find(parts, "indexer");
  return indexer != parts.end() && std::ranges::find(indexer, parts.end(), "wk") != parts.end();
}

}  // namespace

std::string_view kept_kind(std::string_view name) {
  const std::string lowered = lower(name);
  const auto parts = split(lowered, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    // "norm.weight" and "norm1.linear.weight", but not "norm_attn_norm.attn.Wqkv.weight".
    if (part.find("norm") != part.npos && i + 3 >= parts.size()) return "a norm";
    for (const Kept& kept : kKept) {
      if (kept.whole ? part == kept.word : part.find(kept.word) != part.npos) return kept.kind;
    }
    if (part.ends_with("_bias")) return kTable;
  }
  if (is_indexer_key(parts)) return kIndexerPart;
  return {};
}

bool has_component(std::string_view name, std::span<const std::string_view> components) {
  return std::ranges::any_of(split(name, '.'), [&](std::string_view component) {
    return std::ranges::find(components, component) != components.end();
  });
}

bool mlp_part(std::string_view name) {
  return has_component(name, kMlps) || name.find("experts.") != name.npos;
}

bool holds_experts(std::string_view name) {
  const auto parts = split(name, '.');
  return std::ranges::any_of(parts, [](std::string_view part) {
    return part.find("experts") != part.npos || part == "input_linear" || part == "output_linear";
  });
}

bool output_projection(std::string_view name) { return has_component(name, kOutputs); }

bool is_head(std::string_view name) { return has_component(name, kHeads); }

bool vision_part(std::string_view name) { return has_component(name, kVision); }

}  // namespace diecast
