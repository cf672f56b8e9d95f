// Reading an index without trusting it: what it names is opened, so a name stays in its folder.
#include <diecast/base/text.h>
#include <diecast/checkpoint/safetensors_header.h>
#include <diecast/checkpoint/safetensors_index.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace diecast {
namespace {

constexpr std::string_view kMap = "weight_map", kIndexMetadata = "metadata", kSize = "total_size";

Error wrong_index(std::string_view path, std::string_view what) {
  return {ErrorCode::file_corrupt, cat(quote(path, 1000), ": ", what),
          "give the index of a checkpoint; if it is one, write or download it again"};
}

// What a parse sees pass by and a tree of it no longer has.
struct Passing {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // so far, of each object that is open
  std::string key, fault;                   // key: of the index itself

  bool operator()(int depth, Event event, nlohmann::json& value) {
    if (depth > kHeaderDepthLimit) {  // nor is it kept, which would take much more than its text
      say(cat("it nests deeper than ", kHeaderDepthLimit, " levels"));
      return false;
    }
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::value && key == kIndexMetadata && value.is_number_float() &&
        std::fabs(value.get<double>()) >= 0x1p63)
      say("its metadata has a number of more than 64 bits");  // of which a double has 53
    if (event != Event::key) return true;
    const auto& text = value.get_ref<const std::string&>();
    if (depth == 1) key = text;
    if (!keys.back().insert(text).second)
      say(cat(depth == 2 && key == kMap ? "tensor " : "", quote(text), " is given twice"));
    return true;
  }
  void say(std::string what) {
    if (fault.empty()) fault = std::move(what);
  }
};

// Why a name is no file of the folder.
std::string_view name_fault(std::string_view name) {
  if (name.find('/') != name.npos) return "is not in the folder of the index";
  if (name.find('\0') != name.npos) return "is no file name";
  return {};
}

}  // namespace

Result<SafetensorsIndex> parse_index(std::string_view json, std::string_view path) {
  Passing passing;
  const auto tree = nlohmann::json::parse(json, std::ref(passing), false);
  if (!passing.fault.empty()) return wrong_index(path, passing.fault);
  if (tree.is_discarded()) return wrong_index(path, "it is not JSON");
  const auto map = tree.is_object() ? tree.find(kMap) : tree.end();
  if (map == tree.end() || !map->is_object() || map->empty())
    return wrong_index(path, "it has no weight_map, an object of tensors and their files");
  SafetensorsIndex out;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string())
      return wrong_index(path, cat("the weight_map gives ", quote(tensor), " no file"));
    const auto& name = file.get_ref<const std::string&>();
    const auto wrong = [&, &tensor = tensor](std::string_view why) {
      return cat(quote(name, 300), ", the file of ", quote(tensor), ", ", why);
    };
    if (const std::string_view fault = name_fault(name); !fault.empty())
      return wrong_index(path, wrong(fault));
    if (!name.ends_with(".safetensors")) {
      return Error{ErrorCode::not_supported,
                   cat(quote(path, 1000), ": ", wrong("is no .safetensors file")),
                   "save the checkpoint as .safetensors files first"};
    }
    out.files.emplace(tensor, name);
  }
  if (const auto found = tree.find(kIndexMetadata); found != tree.end() && !found->is_null()) {
    if (!found->is_object()) return wrong_index(path, "its metadata is no object");
    out.metadata = found->dump();
  }
  return out;
}

std::string encode_index(const SafetensorsIndex& index, std::uint64_t total_size) {
  nlohmann::json metadata = nlohmann::json::parse(index.metadata, nullptr, false);
  metadata[std::string(kSize)] = total_size;
  const nlohmann::json out = {{kIndexMetadata, std::move(metadata)}, {kMap, index.files}};
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace diecast
