// A model's config.json as JSON: Python writes it, so it may hold NaN and Infinity, and a stranger
// may have, so it may hold anything.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

using ConfigJson = nlohmann::ordered_json;

// None for a text that is no JSON object, or is nested too deep. Python's NaN and Infinity are
// strings in it.
std::optional<ConfigJson> parse_config(std::string_view text);

// The text of what parse_config() gave, or of anything else, with NaN and Infinity as they were.
std::string config_text(const ConfigJson& json);

// The config and the language model's own in it (text_config and its like), the innermost first.
std::vector<const ConfigJson*> config_levels(const ConfigJson& whole);

// Takes away what a config says of a quantization, at each of these levels. Whether there was any;
// null and {} are none.
bool drop_quantization_configs(ConfigJson& whole);

struct SaidOfQuantization {
  std::string_view key;
  const ConfigJson* config;
};
// What a config says of a quantization, in the order of config_levels(). Null and {} say nothing.
std::vector<SaidOfQuantization> quantization_configs(const ConfigJson& whole);

// Whether what a config says of a quantization, or of a layer's, is NVFP4: ModelOpt's "NVFP4" or
// "W4A16_NVFP4", in lower case too, or compressed-tensors' name of it.
bool says_nvfp4(const ConfigJson& config);

// The member of that name; null where `json` is no object or has none.
const ConfigJson* member(const ConfigJson& json, std::string_view name);

// The text of that name; empty where there is none.
std::string text_at(const ConfigJson& json, std::string_view name);

// Adds the texts in the array of that name, where there is one.
void add_texts(const ConfigJson& json, std::string_view name, std::vector<std::string>& to);

}  // namespace diecast
