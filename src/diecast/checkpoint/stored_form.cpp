// The pairs there are; see stored_form.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/stored_form.h>

#include <algorithm>
#include <string>
#include <vector>

namespace diecast {
namespace {

// The first of a format is what it gets where none is asked for.
constexpr StoredForm kForms[] = {{WeightFormat::nvfp4, EngineConfig::modelopt},
                                 {WeightFormat::nvfp4, EngineConfig::compressed_tensors},
                                 {WeightFormat::nvfp4_w4a16, EngineConfig::modelopt},
                                 {WeightFormat::nvfp4_w4a16, EngineConfig::compressed_tensors},
                                 {WeightFormat::mxfp8, EngineConfig::modelopt},
                                 {WeightFormat::mxfp8, EngineConfig::compressed_tensors},
                                 {WeightFormat::mxfp8, EngineConfig::sglang},
                                 {WeightFormat::mxfp4, EngineConfig::compressed_tensors},
                                 {WeightFormat::mxfp4, EngineConfig::gpt_oss}};

}  // namespace

Result<StoredForm> stored_form(std::optional<WeightFormat> format,
                               std::optional<EngineConfig> config, bool gpt_oss) {
  const WeightFormat wanted =
      format.value_or(gpt_oss && !config ? WeightFormat::mxfp4 : WeightFormat::nvfp4);
  if (gpt_oss && !config && wanted == WeightFormat::mxfp4)
    return StoredForm{wanted, EngineConfig::gpt_oss};
  std::vector<std::string> others;
  for (const StoredForm& form : kForms) {
    if (form.format != wanted) continue;
    if (!config || *config == form.config) return form;
    others.emplace_back(word(form.config));
  }
  return Error{ErrorCode::not_supported,
               cat(word(wanted), " with a config of ", word(*config), ", which no engine reads"),
               cat("--config ", join(others, " or "), " goes with it")};
}

}  // namespace diecast
