// By names, as the models' own code in the two engines has it; see float_modules.h.
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/verify/float_modules.h>

namespace diecast {

std::vector<Engine> built_of_floats(std::string_view weight, const StoredForm& form, bool drafts) {
  constexpr std::string_view kDrafts = "mtp.";
  const bool modelopt_nvfp4 = form.config == EngineConfig::modelopt && !is_mx(form.format);
  const bool joins = weight.ends_with(".eh_proj.weight") && !weight.starts_with(kDrafts);
  const bool draft_input = weight == "mtp.fc.weight";
  const std::string_view kind = kept_kind(weight);
  if (vision_part(weight) || kind == "an embedding" || weight.ends_with(".kv_b_proj.weight") ||
      kind == kIndexerPart || joins || (draft_input && modelopt_nvfp4))
    return {Engine::vllm, Engine::sglang};
  const bool in_draft = drafts || weight.starts_with(kDrafts);
  if (draft_input || (in_draft && modelopt_nvfp4)) return {Engine::sglang};
  return {};
}

}  // namespace diecast
