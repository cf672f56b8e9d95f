// Stand-ins for Python's words; see config_json.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/safetensors_header.h>
#include <diecast/checkpoint/select/config_json.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace diecast {
namespace {

// Python writes what JSON has no words for as these; here and there they are strings.
constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
constexpr std::string_view kStandIn = "\"diecast:";
std::string stand_in(std::string_view word) { return cat(kStandIn, word, '"'); }

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

// Of a name that stands twice the last value is true, as Python has it.
void drop_repeated(ConfigJson::object_t& object) {
  auto* const members = object.data();
  std::unordered_map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto [known, is_new] = first.emplace(members[i].first, i);
    if (!is_new) members[known->second].second = std::move(members[i].second);
  }
  if (first.size() == object.size()) return;
  ConfigJson::object_t kept;
  for (std::size_t i = 0; i < object.size(); ++i)
    if (first.at(members[i].first) == i) kept.push_back(std::move(members[i]));
  object = std::move(kept);
}

// The parser's own way looks through all names of an object for each new one. Here a member goes
// behind the others, and the end of the object finds the names that stand twice.
class Builder : public nlohmann::json_sax<ConfigJson> {
 public:
  ConfigJson take() { return std::move(whole_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& name) override {
    name_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override { return begin(ConfigJson::object()); }
  bool start_array(std::size_t) override { return !open_.empty() && begin(ConfigJson::array()); }
  bool end_object() override {
    drop_repeated(open_.back()->get_ref<ConfigJson::object_t&>());
    return end_array();
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const ConfigJson::exception&) override {
    return false;
  }

 private:
  // What is open stays where it is, because only the innermost grows.
  bool begin(ConfigJson value) {
    if (open_.size() > kHeaderDepthLimit) return false;
    if (open_.empty())
      whole_ = std::move(value);
    else
      add(std::move(value));
    ConfigJson& inner = open_.empty() ? whole_ : last();
    open_.push_back(&inner);
    return true;
  }
  bool add(ConfigJson value) {
    if (open_.empty()) return false;  // no object around it
    ConfigJson& to = *open_.back();
    if (to.is_array())
      to.push_back(std::move(value));
    else
      to.get_ref<ConfigJson::object_t&>().emplace_back(std::move(name_), std::move(value));
    return true;
  }
  ConfigJson& last() {
    ConfigJson& outer = *open_.back();
    return outer.is_array() ? outer.back() : outer.get_ref<ConfigJson::object_t&>().back().second;
  }

  ConfigJson whole_;
  std::vector<ConfigJson*> open_;
  std::string name_;
};

// Where models of several parts keep the language model's config.
constexpr std::string_view kTextConfigs[] = {"thinker_config", "text_config", "llm_config",
                                             "language_config"};

constexpr std::string_view kQuantizationKeys[] = {"quantization_config", "compression_config"};

}  // namespace

std::optional<ConfigJson> parse_config(std::string_view text) {
  Builder builder;
  if (!ConfigJson::sax_parse(with_stand_ins(text), &builder)) return std::nullopt;
  return builder.take();
}

std::string config_text(const ConfigJson& json) {
  const std::string text = json.dump(2, ' ', false, ConfigJson::error_handler_t::replace) + "\n";
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = text.find(kStandIn, at)) != text.npos; ++at) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto* const word = std::ranges::find_if(
        kWords, [&](std::string_view each) { return rest.starts_with(stand_in(each)); });
    if (word == std::end(kWords)) continue;
    out.append(text, done, at - done).append(*word);
    done = at + stand_in(*word).size();
  }
  return out.append(text, done);
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

bool says_nvfp4(const ConfigJson& config) {
  if (!config.is_object()) return false;
  const auto packed = [](const ConfigJson& said) {
    return text_at(said, "format") == "nvfp4-pack-quantized";
  };
  const ConfigJson* const groups = member(config, "config_groups");
  if (packed(config) || (groups != nullptr && std::ranges::any_of(*groups, packed))) return true;
  std::string text = text_at(config, "quant_algo");
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text == "NVFP4" || text == "W4A16_NVFP4";
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
