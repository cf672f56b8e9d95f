// Reads the reference vectors of tests/golden (format: tests/golden/README.md) for tests of any
// floor. Written apart from the checkpoint floor's reader, so that neither can hide the other's
// mistakes. Throws std::runtime_error when a file is not what it should be: a test then fails.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace diecast::golden {

struct Vector {
  std::string dtype;  // the file's word: F32, F16, BF16, U8, F8_E4M3
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;

  // The elements as T, which has the size of the file's element type.
  template <class T>
  std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

struct Case {
  nlohmann::json options;
  std::map<std::string, Vector> vectors;

  std::string name() const { return options.at("name").get<std::string>(); }
  bool flag(const char* option) const { return options.value(option, false); }
  bool has(const std::string& what) const { return vectors.count(what) != 0; }
  const Vector& operator[](const std::string& what) const {
    const auto found = vectors.find(what);
    if (found == vectors.end()) throw std::runtime_error(name() + " has no " + what);
    return found->second;
  }
};

struct File {
  std::string title;
  std::vector<Case> cases;
};

inline Vector vector_of(const std::string& file, std::size_t data_begin,
                        const nlohmann::json& entry) {
  const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
  if (begin > end || end > file.size() - data_begin) {
    throw std::runtime_error("a tensor lies outside of the file");
  }
  Vector vector{entry.at("dtype"), entry.at("shape"), {}};
  vector.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(data_begin + begin),
                      file.begin() + static_cast<std::ptrdiff_t>(data_begin + end));
  std::size_t bytes = vector.dtype == "F32"                             ? 4
                      : vector.dtype == "F16" || vector.dtype == "BF16" ? 2
                                                                        : 1;
  for (const std::int64_t size : vector.shape) bytes *= static_cast<std::size_t>(size);
  if (bytes != vector.bytes.size()) throw std::runtime_error("a tensor's size is not its shape's");
  return vector;
}

// The path of tests/golden; DIECAST_GOLDEN_DIR names another place.
inline std::string directory() {
  const char* other = std::getenv("DIECAST_GOLDEN_DIR");
  return other != nullptr ? other : DIECAST_SOURCE_DIR "/tests/golden";
}

// File `name` ("nvfp4_te") with its cases in order, each with its tensors by the part of their
// names behind the slash.
inline File read(const std::string& name) {
  const std::string path = directory() + "/" + name + ".safetensors";
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot open " + path);
  const std::string file((std::istreambuf_iterator<char>(stream)), {});
  std::uint64_t header_size = 0;
  if (file.size() < 8) throw std::runtime_error(path + " is too short");
  for (int i = 7; i >= 0; --i) header_size = header_size * 256 + static_cast<std::uint8_t>(file[i]);
  if (header_size > file.size() - 8) throw std::runtime_error(path + " is cut short");
  const nlohmann::json header = nlohmann::json::parse(file.substr(8, header_size));
  const nlohmann::json& metadata = header.at("__metadata__");

  File out;
  out.title = metadata.at("title").get<std::string>();
  std::map<std::string, std::map<std::string, Vector>> vectors;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    const std::size_t slash = key.find('/');
    if (slash == std::string::npos) throw std::runtime_error(path + ": tensor " + key);
    vectors[key.substr(0, slash)].emplace(key.substr(slash + 1),
                                          vector_of(file, 8 + header_size, entry));
  }
  for (const auto& options : nlohmann::json::parse(metadata.at("cases").get<std::string>())) {
    out.cases.push_back({options, std::move(vectors[options.at("name").get<std::string>()])});
  }
  return out;
}

}  // namespace diecast::golden
