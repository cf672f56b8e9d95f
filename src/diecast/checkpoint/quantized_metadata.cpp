// JSON that nobody has to believe; see quantized_metadata.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/quantized_metadata.h>
#include <diecast/checkpoint/select/fused_experts.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace diecast {

Error corrupt(std::string what, bool ours) {
  return {ErrorCode::file_corrupt, std::move(what),
          ours ? "quantize the original checkpoint again with `diecast quantize`"
               : "write or download the checkpoint again"};
}

bool is_ours(const Metadata& metadata) { return metadata.count(std::string(kFormatKey)) != 0; }

bool says_mx(const Metadata& metadata) {
  const auto format = parse_word<WeightFormat>(metadata.at(std::string(kFormatKey)));
  return format && is_mx(*format);
}

Result<Types> types_of_metadata(const Metadata& metadata) {
  std::vector<std::pair<std::string_view, std::vector<std::string>>> read = {
      {kFormatKey,
       {std::string(word(WeightFormat::nvfp4)), std::string(word(WeightFormat::mxfp8)),
        std::string(word(WeightFormat::mxfp4))}}};
  if (!says_mx(metadata)) read.emplace_back(kProfileKey, checkpoint_profile_names());
  for (const auto& [key, wanted] : read) {
    const auto found = metadata.find(std::string(key));
    const std::string text = found == metadata.end() ? "" : found->second;
    if (std::find(wanted.begin(), wanted.end(), text) != wanted.end()) continue;
    return Error{ErrorCode::not_supported,
                 cat("the metadata has ", key, " = ", quote(text), ", only ", join(wanted, ", "),
                     wanted.size() == 1 ? " is read" : " are read"),
                 "read a file that diecast wrote"};
  }
  const auto entry = metadata.find(std::string(kDtypesKey));
  const auto listed =
      nlohmann::json::parse(entry == metadata.end() ? "" : entry->second, nullptr, false);
  if (!listed.is_object()) return corrupt(cat("the metadata's ", kDtypesKey, " is no JSON object"));
  Types types;
  for (const auto& [name, value] : listed.items()) {
    const auto stored =
        value.is_string() ? parse_stored_dtype(value.get<std::string>()) : std::nullopt;
    const auto type = stored ? float_dtype(*stored) : std::nullopt;
    if (!type || (!name.ends_with(kWeightSuffix) && fused_bank(name).empty())) {
      return corrupt(
          cat("the metadata's ", kDtypesKey, " gives ", quote(name), " no type of F32, F16, BF16"));
    }
    types.emplace(name, type);
  }
  return types;
}

}  // namespace diecast
