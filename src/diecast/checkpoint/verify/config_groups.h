// The groups of a compressed-tensors config: a format each, and the modules that have it, as vLLM
// looks for them.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/select/config_json.h>
#include <diecast/checkpoint/verify/layer_form.h>
#include <diecast/checkpoint/verify/name_patterns.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace diecast {

struct ConfigGroup {
  LayerForm form;
  NamePatterns targets;  // modules, or the class Linear
};

// At least one, in the order in which vLLM asks them: a target that several groups name has the
// last one's form, in the place of the first. Groups of an attention's class are about the cache of
// keys and values, and are left out. Errors: not_supported (no groups; a group of another format,
// which is named; a list that is not understood).
Result<std::vector<ConfigGroup>> config_groups(const ConfigJson& config);

// The forms of what a module is made of: one where all is alike, none among them for what no group
// has. A target that names the module or a part of it goes before a class. Of a bank of experts the
// first one is asked for.
std::set<std::optional<LayerForm>> forms_by_groups(const std::vector<ConfigGroup>& groups,
                                                   const std::string& module);

}  // namespace diecast
