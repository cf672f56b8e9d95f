// From the token embedding to its stack of layers; see language_model.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/select/language_model.h>

#include <algorithm>
#include <array>

namespace diecast {
namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
using Stacks = std::map<std::string, Stack, std::less<>>;

constexpr std::array<std::string_view, 5> kStackNames = {"layers", "h", "blocks", "block", "layer"};
constexpr std::array<std::string_view, 13> kEmbeddingNames = {
    "embed_tokens",    "wte",        "word_embeddings", "tok_embeddings", "embed_in",
    "shared",          "embeddings", "embedding",       "word_embedding", "embed",
    "token_embedding", "token_embd", "tokens_embed"};
constexpr std::array<std::string_view, 4> kDraftParts = {"eh_proj", "enorm", "hnorm",
                                                         "shared_head"};

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != std::end(words);
}

// "model" of "model.layers."; empty for "layers.".
std::string_view owner_of(std::string_view stack) {
  const std::size_t dot = stack.rfind('.', stack.size() - 2);
  return dot == stack.npos ? std::string_view() : stack.substr(0, dot);
}

std::string_view last_of(std::string_view path) { return path.substr(path.rfind('.') + 1); }

Stacks numbered_stacks(const CheckpointHeader& header) {
  Stacks out;
  std::map<std::string_view, std::set<std::uint64_t>> layers;
  for (const TensorInfo& tensor : header.tensors) {
    const auto part = layer_part(tensor.name);
    if (!part) continue;
    Stack& stack = out.try_emplace(std::string(part->stack)).first->second;
    if (has_component(part->inside, kDraftParts)) stack.drafts.insert(part->layer);
    layers[part->stack].insert(part->layer);
  }
  for (auto& [name, stack] : out) {
    stack.depth = layers[name].size();
    for (const std::uint64_t layer : layers[name])
      if (!stack.drafts.contains(layer)) stack.end = std::max(stack.end, layer + 1);
  }
  return out;
}

bool is_embedding(const TensorInfo& tensor, const ModelConfig& config) {
  if (tensor.shape.size() != 2 || layer_part(tensor.name)) return false;
  std::string_view name = tensor.name;
  if (name.ends_with(".weight")) name.remove_suffix(7);
  const std::string_view last = last_of(name);
  if (is_one_of(last, kEmbeddingNames)) return true;
  return config.vocab_size && tensor.shape[0] == *config.vocab_size && tensor.shape[1] > 1 &&
         last != "bias" && !is_head(tensor.name);
}

// A language model: what its embedding stands in, and how wide that is.
struct Found {
  std::string owner;
  std::uint64_t width = 0;
  std::vector<std::string> stacks;  // at least one
};

std::vector<std::string> stacks_of(std::string_view owner, const Stacks& stacks) {
  std::vector<std::string> out;
  for (const std::string_view middle : {"", "encoder.", "decoder."}) {
    for (const std::string_view name : kStackNames) {
      std::string stack = cat(owner, owner.empty() ? "" : ".", middle, name, ".");
      if (stacks.contains(stack)) out.push_back(std::move(stack));
    }
  }
  return out;
}

// The nearest ancestor of the embedding that has a stack.
Found language_model_of(const TensorInfo& embedding, const Stacks& stacks) {
  std::string_view owner = embedding.name;
  while (!owner.empty()) {
    const std::size_t dot = owner.rfind('.');
    owner = dot == owner.npos ? std::string_view() : owner.substr(0, dot);
    if (auto found = stacks_of(owner, stacks); !found.empty())
      return {std::string(owner), embedding.shape[1], std::move(found)};
  }
  return {};
}

// Encoder and decoder with an embedding each are the halves of one model, in what both stand in.
void join_halves(std::vector<Found>& all, const Stacks& stacks) {
  for (Found& one : all) {
    const std::string_view last = last_of(one.owner);
    if (last != "encoder" && last != "decoder") continue;
    const std::string other =
        cat(owner_of(one.owner + "."), owner_of(one.owner + ".").empty() ? "" : ".",
            last == "encoder" ? "decoder" : "encoder");
    if (std::ranges::find(all, other, &Found::owner) == all.end()) continue;
    const std::string around(owner_of(one.owner + "."));
    std::vector<std::string> both = stacks_of(around, stacks);
    if (both.empty()) continue;  // each has its stack further inside
    one.owner = around;
    one.stacks = std::move(both);
  }
}

std::vector<Found> language_models(const CheckpointHeader& header, const ModelConfig& config,
                                   const Stacks& stacks) {
  std::vector<Found> all;
  for (const TensorInfo& tensor : header.tensors) {
    if (!is_embedding(tensor, config)) continue;
    Found found = language_model_of(tensor, stacks);
    if (!found.stacks.empty()) all.push_back(std::move(found));
  }
  join_halves(all, stacks);
  // Of those with the same stacks, or with some of another's, one remains.
  std::ranges::sort(all, {}, &Found::owner);
  std::vector<Found> out;
  for (Found& one : all) {
    const auto covers = [&](const Found& other) {
      return std::ranges::all_of(one.stacks, [&](const std::string& stack) {
        return std::ranges::find(other.stacks, stack) != other.stacks.end();
      });
    };
    if (std::ranges::none_of(out, covers)) out.push_back(std::move(one));
  }
  return out;
}

// Leaves those of which `is_main` is true, if it is true of any.
void narrow(std::vector<Found>& found, auto is_main) {
  if (found.size() > 1 && std::ranges::any_of(found, is_main))
    std::erase_if(found, [&](const Found& each) { return !is_main(each); });
}

std::optional<std::uint64_t> count_of(std::string_view stack, const ModelConfig& config) {
  const std::string_view half = last_of(owner_of(stack));
  if (half == "encoder" && config.encoder_layers) return config.encoder_layers;
  if (half == "decoder" && config.decoder_layers) return config.decoder_layers;
  return config.layers;
}

std::vector<std::string> quoted(const std::vector<std::string>& stacks) {
  std::vector<std::string> out;
  for (const std::string& stack : stacks) out.push_back(quote(stack + "*"));
  return out;
}

Error several(const std::vector<Found>& found) {
  return {ErrorCode::invalid_argument,
          cat("the model has several language models of one size, such as ",
              quote(found[0].stacks[0] + "*"), " and ", quote(found[1].stacks[0] + "*")),
          "name the weights to quantize with --include"};
}

Error no_stack() {
  return {ErrorCode::invalid_argument,
          "no tensor's name says that it is a part of a numbered layer, so nothing says which are "
          "to be quantized",
          "name them with --include, a glob such as --include \"*.weight\""};
}

}  // namespace

std::optional<LayerPart> layer_part(std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    const std::size_t next = name.find('.', dot + 1);
    if (next == name.npos) return std::nullopt;
    const auto number = parse_integer(name.substr(dot + 1, next - dot - 1));
    // "mlp1.1.weight" is a module of a sequence, no layer.
    if (!number || *number < 0 || name.find('.', next + 1) == name.npos) continue;
    return LayerPart{name.substr(0, dot + 1), static_cast<std::uint64_t>(*number),
                     name.substr(next + 1)};
  }
  return std::nullopt;
}

Result<LanguageModel> LanguageModel::find(const CheckpointHeader& header, const ModelConfig& config,
                                          bool must_find) {
  LanguageModel out;
  Stacks stacks = numbered_stacks(header);
  std::vector<Found> found = language_models(header, config, stacks);
  narrow(found, [&](const Found& each) { return each.width == config.hidden_size; });
  narrow(found,
         [&](const Found& each) { return stacks.at(each.stacks[0]).depth == config.layers; });
  if (found.size() > 1) {
    if (must_find) return several(found);
    return out;
  }
  if (found.size() == 1) {
    for (const std::string& name : found[0].stacks) {
      Stack stack = stacks.at(name);
      stack.layers = count_of(name, config);
      out.stacks_.emplace(name, std::move(stack));
    }
    out.scope_ = cat("the language model's layers, ", join(quoted(found[0].stacks), " and "),
                     ", as its token embedding tells");
    return out;
  }
  std::erase_if(stacks, [](const auto& each) { return vision_part(each.first); });
  if (stacks.empty() && must_find) return no_stack();
  out.stacks_ = std::move(stacks);
  out.scope_ =
      cat("every numbered layer",
          out.stacks_.size() == 1 ? cat(", ", quote(out.stacks_.begin()->first + "*")) : "",
          ": no token embedding tells those of a language model");
  return out;
}

bool LanguageModel::is_at_an_end(std::string_view name, std::uint64_t first,
                                 std::uint64_t last) const {
  const auto part = layer_part(name);
  const auto stack = part ? stacks_.find(part->stack) : stacks_.end();
  if (stack == stacks_.end()) return false;
  const std::uint64_t end = std::min(stack->second.end, stack->second.layers.value_or(kNoLimit));
  return part->layer < first || part->layer + std::min(last, end) >= end;
}

bool LanguageModel::drafts(std::string_view name) const {
  const auto part = layer_part(name);
  const auto stack = part ? stacks_.find(part->stack) : stacks_.end();
  if (stack == stacks_.end()) return false;
  const Stack& of = stack->second;
  return of.drafts.contains(part->layer) || (of.layers && part->layer >= *of.layers);
}

std::string_view LanguageModel::outside(std::string_view name) const {
  const auto part = layer_part(name);
  if (!part || !stacks_.contains(part->stack)) return "outside the language model's layers";
  return drafts(name) ? "a layer that drafts tokens" : "";
}

}  // namespace diecast
