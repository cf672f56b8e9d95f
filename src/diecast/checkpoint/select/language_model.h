// Where the language model's repeated layers are: engines build these of quantized weights, and
// towers, projectors, heads and draft layers around them of floating-point ones.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/select/model_config.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// "model.layers.12.mlp.up_proj.weight": the stack "model.layers.", its layer 12, and in it
// "mlp.up_proj.weight".
struct LayerPart {
  std::string_view stack;
  std::uint64_t layer = 0;
  std::string_view inside;
};
// The part of the outermost numbered layer; none for a name that has no number in its middle.
std::optional<LayerPart> layer_part(std::string_view name);

struct Stack {
  std::optional<std::uint64_t> layers;  // those from this one on only draft; none: not known
  std::set<std::uint64_t> drafts;       // known as such by what they hold
  std::uint64_t depth = 0;              // how many there are, with those that draft
  std::uint64_t end = 0;                // one more than the last layer that drafts nothing
};

class LanguageModel {
 public:
  // The stacks beside or around the token embedding: X.layers.N (also h, blocks, block, layer)
  // where X is the embedding's nearest ancestor that has one, directly or below `encoder` or
  // `decoder`. Without an embedding every numbered stack. `must_find`: no stack,
  // and several language models of which the config does not tell the main one, are errors
  // (invalid_argument); else nothing is found.
  static Result<LanguageModel> find(const CheckpointHeader& header, const ModelConfig& config,
                                    bool must_find);

  // Why the structure leaves this name out; empty for a part of a layer.
  std::string_view outside(std::string_view name) const;

  // Whether it is a part of a layer that only drafts tokens.
  bool drafts(std::string_view name) const;

  const std::map<std::string, Stack, std::less<>>& stacks() const { return stacks_; }
  // Whether it is in one of the first or last so many layers of its stack.
  bool is_at_an_end(std::string_view name, std::uint64_t first, std::uint64_t last) const;

  // What tells the layers, and which they are, in words.
  const std::string& scope() const { return scope_; }

 private:
  std::map<std::string, Stack, std::less<>> stacks_;  // by "model.layers."
  std::string scope_;
};

}  // namespace diecast
