// Checkpoints that tests make and read back with their own few lines: nothing here comes from the
// library, so an agreement of both sides means the file is right.
#pragma once

#include <diecast/base/hash.h>
#include <temporary_directory.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace diecast::testing {

// A file around this header text: its length, the text as it stands, then the data.
inline std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

struct TestTensor {
  std::string dtype;  // "BF16"
  std::vector<std::uint64_t> shape;
  std::string bytes;
  bool operator==(const TestTensor&) const = default;
};

struct TestFile {
  std::map<std::string, TestTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Tensors by their names, or the other way round.
inline std::string encode(const TestFile& file, bool backwards = false) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::vector<std::pair<std::string, TestTensor>> tensors(file.tensors.begin(), file.tensors.end());
  if (backwards) std::reverse(tensors.begin(), tensors.end());
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return file_of(header.dump(), data);
}

// The ten-line reader.
inline TestFile decode(const std::string& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  TestFile file;
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      file.metadata = value;
      continue;
    }
    const std::uint64_t begin = value["data_offsets"][0], end = value["data_offsets"][1];
    file.tensors[name] = {value["dtype"], value["shape"],
                          bytes.substr(8 + length + begin, end - begin)};
  }
  return file;
}

// Seeded values with outliers, as bytes of F32, F16 or BF16.
inline TestTensor random_tensor(const std::string& dtype, std::vector<std::uint64_t> shape,
                                std::uint64_t seed) {
  std::uint64_t count = 1, state = seed * 2654435761u + 1;
  for (const std::uint64_t dim : shape) count *= dim;
  TestTensor out{dtype, std::move(shape), {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    float value = static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f;
    if (i % 37 == 5) value *= 24;
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    // Cut rather than rounded: any value of the type will do. F16: exponent 127 becomes 15.
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    const std::uint32_t f16 = magnitude < 0x38800000 ? 0 : (magnitude - 0x38000000) >> 13;
    const std::uint32_t half = dtype == "F16" ? (bits >> 16 & 0x8000) | f16 : bits >> 16;
    const std::uint32_t word = dtype == "F32" ? bits : half;
    out.bytes.append(reinterpret_cast<const char*>(&word), dtype == "F32" ? 4 : 2);
  }
  return out;
}

inline TestTensor floats(std::vector<std::uint64_t> shape, const std::vector<float>& values) {
  return {"F32", std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4)};
}

inline std::vector<float> floats_of(const TestTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / 4);
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

}  // namespace diecast::testing
