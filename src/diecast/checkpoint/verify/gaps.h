// Weights that a model should have and has not: whole layers, experts, and parts of modules of
// which the rest is there. No engine notices: it computes with what is in memory.
#pragma once

#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/select/language_model.h>
#include <diecast/checkpoint/select/model_config.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diecast {

struct Gap {
  std::string what;         // the first of its kind
  std::uint64_t count = 1;  // of its kind
};

// Of a model's layers, as far as the config says how many there are; draft layers do not count.
// `named` has codes under their weights' names. Told are
//   layers below the config's number that have no tensor;
//   experts below the config's number, or else below that of other layers;
//   weights of which a module cannot be without, as the up_proj of a gate_proj;
//   weights that the same module has in at least as many other layers, or in other experts.
// Layers may share keys and values with others where the config says that some do.
std::vector<Gap> gaps_of(const CheckpointHeader& named, const LanguageModel& model,
                         const ModelConfig& config);

}  // namespace diecast
