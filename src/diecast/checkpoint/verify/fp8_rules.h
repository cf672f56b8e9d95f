// Configs of quant_method "fp8", as DeepSeek's and Qwen's FP8 models have them: what vLLM 0.32
// reads in them (Fp8Config), and what its loader needs of scales in blocks.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/verify/engine_rules.h>
#include <diecast/checkpoint/verify/found_weights.h>
#include <diecast/checkpoint/verify/layer_form.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

struct ConfigFault {
  std::vector<Engine> engines;  // that stop at it
  std::string what;
};

struct Fp8Config {
  Fp8Layout layout;  // of all that is not ignored
  std::set<std::string> ignore;
  std::vector<ConfigFault> faults;

  // Entries are whole names. A module that vLLM makes of several is left alone by its own name or
  // by those of all its parts, and a bank of experts by any entry that has its name in it.
  Ignored ignored(const std::string& module) const;
};

// Errors: not_supported (a part of the model is in another format).
Result<Fp8Config> fp8_config(const ConfigJson& config);

// Whether vLLM reads the FP8 of a config.json's "model_type" by rules of that model's own.
bool has_own_fp8_rules(std::string_view model_type);

// Whether vLLM builds a module without a look at such a config: heads, what joins a draft layer's
// inputs, the keys of DeepSeek's indexer.
bool built_without_fp8(std::string_view module);

// Whether vLLM finds a weight's scales in blocks. It puts those of matrices that it merges behind
// each other, so all but the last must have whole blocks of rows, and so must both halves of an
// expert's gated matrix.
bool in_whole_blocks(const FoundWeights& found, const FoundWeight& weight, const Fp8Layout& layout);

}  // namespace diecast
