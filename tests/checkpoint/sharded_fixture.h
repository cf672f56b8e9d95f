// A checkpoint cut into several files with an index, as tests write and read it.
#pragma once

#include <checkpoint/convert_fixture.h>
#include <diecast/checkpoint/checkpoint.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace diecast::testing {

inline const std::string kIndexName = "model.safetensors.index.json";

using Shards = std::map<std::string, TestFile>;  // by file name

// sample() in three files: gate_proj and up_proj, which share an amax, are apart.
inline Shards sample_shards() {
  Shards out;
  int number = 0;
  for (const auto& [name, tensor] : sample().tensors) {
    const std::string file = "model-0000" + std::to_string(number++ % 3 + 1) + "-of-3.safetensors";
    out[file].tensors.emplace(name, tensor);
    out[file].metadata = {{"format", "pt"}, {"file", file}};
  }
  return out;
}

inline nlohmann::json index_of(const Shards& shards) {
  nlohmann::json index = {{"metadata", {{"kept", "\xC3\xA9"}, {"total_size", 0}}},
                          {"weight_map", nlohmann::json::object()}};
  std::uint64_t bytes = 0;
  for (const auto& [file, content] : shards) {
    for (const auto& [name, tensor] : content.tensors) {
      index["weight_map"][name] = file;
      bytes += tensor.bytes.size();
    }
  }
  index["metadata"]["total_size"] = bytes;
  return index;
}

// The folder's index.
inline std::string write_shards(const std::string& folder, const Shards& shards) {
  std::filesystem::create_directories(folder);
  for (const auto& [file, content] : shards) write_text(folder + "/" + file, encode(content));
  write_text(folder + "/" + kIndexName, index_of(shards).dump());
  return folder + "/" + kIndexName;
}

inline Shards read_shards(const std::string& folder) {
  Shards out;
  for (const std::string& name : tree(folder)) {
    if (name != kIndexName) out[name] = decode(text_of(folder + "/" + name));
  }
  return out;
}

}  // namespace diecast::testing
