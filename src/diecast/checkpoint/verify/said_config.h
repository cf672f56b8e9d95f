// What a model's config says of the form of each module's weight: ModelOpt's quantization config,
// compressed-tensors', the one of SGLang's MXFP8, that of FP8 alone, or gpt-oss's own.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/stored_form.h>
#include <diecast/checkpoint/verify/config_groups.h>
#include <diecast/checkpoint/verify/engine_rules.h>
#include <diecast/checkpoint/verify/fp8_rules.h>
#include <diecast/checkpoint/verify/layer_form.h>
#include <diecast/checkpoint/verify/name_patterns.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace diecast {

struct SaidConfig {
  StoredForm form;                   // of what is quantized
  std::vector<std::string> ignore;   // modules that are not, as vLLM finds them in such a config
  std::vector<std::string> skipped;  // the same of MXFP8, which SGLang reads in two configs
  NamePatterns patterns;             // compressed-tensors' list of these
  // Of two formats (MIXED_PRECISION): what each module is. Those that it does not name are not
  // quantized.
  std::map<std::string, LayerForm> layers;
  std::vector<ConfigGroup> groups;  // compressed-tensors'; what none of them has is not quantized
  bool mixed = false;               // of several formats
  std::optional<Fp8Config> fp8;     // all that is quantized is FP8
  std::vector<ConfigFault> faults;  // that it has by itself

  // SGLang takes ModelOpt's MXFP8 for its own, in whose configs the list has another name.
  bool taken_for_its_own(Engine engine) const;
  // Whether an engine leaves a module as it is.
  Ignored ignored(Engine engine, const std::string& module) const;
  // The form of a module's weight; none: it is not quantized, or FP8. As vLLM reads the config.
  std::optional<StoredForm> form_of(const std::string& module) const;
  std::optional<Fp8Layout> fp8_of(const std::string& module) const;  // none: it is no such FP8
  // All that the config names.
  std::vector<StoredForm> forms() const;
  std::set<Fp8Layout> fp8_layouts() const;

 private:
  bool is_listed(const std::string& module) const;
  bool by_module() const { return mixed || !groups.empty(); }
  // Of all parts of a module; none among them for one that is not quantized.
  std::set<std::optional<LayerForm>> layers_of(const std::string& module) const;
  std::set<LayerForm> all_layers() const;
};

// `config` is a quantization_config, or the text of hf_quant_config.json. Errors: not_supported
// (another form, or a list that is not understood).
Result<SaidConfig> said_config(const ConfigJson& config);

// What the text of a config.json says; none: nothing of a quantization. Errors: as above.
Result<std::optional<SaidConfig>> said_by_model_config(std::string_view text);

// What a folder's config.json says, or else its hf_quant_config.json; whose names the scales of
// MXFP8 have, its tensors say. Errors: io_error too.
Result<std::optional<SaidConfig>> said_by_folder(const Checkpoint& checkpoint, FileSystem& files);

}  // namespace diecast
