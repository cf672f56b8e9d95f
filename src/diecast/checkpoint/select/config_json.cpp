// Stand-ins for Python's words; see config_json.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/safetensors_header.h>
#include <diecast/checkpoint/select/config_json.h>

#include <algorithm>

namespace diecast {
namespace {

// Python writes what JSON has no words for as these; here and there they are strings.
constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
std::string stand_in(std::string_view word) { return cat("\"diecast:", word, '"'); }

std::string with_stand_ins(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const auto* const word = std::ranges::find_if(
        kWords, [&](std::string_view each) { return !in_string && rest.starts_with(each); });
    if (word != std::end(kWords)) {
      out += stand_in(*word);
      at += word->size() - 1;
      continue;
    }
    out += text[at];
    if (in_string && text[at] == '\\' && at + 1 < text.size())
      out += text[++at];
    else if (text[at] == '"')
      in_string = !in_string;
  }
  return out;
}

// Where models of several parts keep the language model's config.
constexpr std::string_view kTextConfigs[] = {"thinker_config", "text_config", "llm_config",
                                             "language_config"};

constexpr std::string_view kQuantizationKeys[] = {"quantization_config", "compression_config"};

}  // namespace

std::optional<ConfigJson> parse_config(std::string_view text) {
  constexpr int kMostKeys = 10000;
  int keys = 0;
  bool strange = false;
  const auto usual = [&](int depth, ConfigJson::parse_event_t event, ConfigJson&) {
    keys += event == ConfigJson::parse_event_t::key;
    strange = strange || depth > kHeaderDepthLimit || keys > kMostKeys;
    return !strange;
  };
  ConfigJson whole = ConfigJson::parse(with_stand_ins(text), usual, false);
  if (strange || !whole.is_object()) return std::nullopt;
  return whole;
}

std::string config_text(const ConfigJson& json) {
  std::string out = json.dump(2, ' ', false, ConfigJson::error_handler_t::replace) + "\n";
  for (const std::string_view word : kWords) {
    const std::string wanted = stand_in(word);
    for (std::size_t at = out.find(wanted); at != out.npos; at = out.find(wanted, at))
      out.replace(at, wanted.size(), word);
  }
  return out;
}

std::vector<const ConfigJson*> config_levels(const ConfigJson& whole) {
  std::vector<const ConfigJson*> out = {&whole};
  for (bool deeper = true; deeper;) {
    deeper = false;
    for (const std::string_view name : kTextConfigs) {
      const ConfigJson* inner = member(*out.front(), name);
      if (inner == nullptr || !inner->is_object()) continue;
      out.insert(out.begin(), inner);
      deeper = true;
      break;
    }
  }
  return out;
}

std::vector<SaidOfQuantization> quantization_configs(const ConfigJson& whole) {
  std::vector<SaidOfQuantization> out;
  for (const ConfigJson* level : config_levels(whole)) {
    for (const std::string_view key : kQuantizationKeys) {
      const ConfigJson* const found = member(*level, key);
      if (found != nullptr && !found->empty()) out.push_back({key, found});
    }
  }
  return out;
}

bool drop_quantization_configs(ConfigJson& whole) {
  bool changed = false;
  for (const std::string_view key : kQuantizationKeys) {
    const ConfigJson* found = member(whole, key);
    changed = changed || (found != nullptr && !found->empty());
    whole.erase(std::string(key));
  }
  for (const std::string_view name : kTextConfigs) {
    const auto inner = whole.find(name);
    if (inner != whole.end() && inner->is_object())
      changed = drop_quantization_configs(*inner) || changed;
  }
  return changed;
}

const ConfigJson* member(const ConfigJson& json, std::string_view name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

std::string text_at(const ConfigJson& json, std::string_view name) {
  const ConfigJson* const found = member(json, name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

void add_texts(const ConfigJson& json, std::string_view name, std::vector<std::string>& to) {
  const ConfigJson* const list = member(json, name);
  if (list == nullptr || !list->is_array()) return;
  for (const ConfigJson& entry : *list)
    if (entry.is_string()) to.push_back(entry.get<std::string>());
}

}  // namespace diecast
