// Tensors by their types and names; see model_files.h.
#include <checkpoint/models/model_files.h>

#include <cmath>
#include <cstring>
#include <filesystem>

namespace diecast::testing {
namespace {

bool is_scale(const ModelTensor& tensor) {
  return tensor.name.ends_with("weight_scale") || tensor.name.ends_with("weight_scale_inv");
}

TestTensor drawn_scales(const ModelTensor& tensor, std::uint64_t seed) {
  TestTensor out = random_tensor("F32", tensor.shape, seed);
  for (std::size_t i = 0; i + 4 <= out.bytes.size(); i += 4) {
    const float value = std::ldexp(1.0f, static_cast<int>((seed + i / 4 * 7) % 5) - 8);
    std::memcpy(out.bytes.data() + i, &value, 4);
  }
  if (tensor.dtype == "F32") return out;
  std::string upper;  // BF16 holds powers of two as well
  for (std::size_t i = 0; i < out.bytes.size(); i += 4) upper += out.bytes.substr(i + 2, 2);
  return {tensor.dtype, tensor.shape, upper};
}

// Of packed integers, the shape of the weight beside: eight are in a word.
TestTensor shape_beside(const ModelFolder& folder, const ModelTensor& tensor) {
  const std::string packed = tensor.name.substr(0, tensor.name.rfind("_shape")) + "_packed";
  TestTensor out{"I32", {2}, std::string(8, '\0')};
  for (const ModelTensor& other : tensors_of(folder)) {
    if (other.name != packed) continue;
    const auto rows = static_cast<std::int32_t>(other.shape[0]);
    const auto cols = static_cast<std::int32_t>(other.shape[1] * 8);
    std::memcpy(out.bytes.data(), &rows, 4);
    std::memcpy(out.bytes.data() + 4, &cols, 4);
  }
  return out;
}

TestTensor drawn(const ModelFolder& folder, const ModelTensor& tensor, std::uint64_t seed) {
  if (is_scale(tensor)) return drawn_scales(tensor, seed);
  if (tensor.name.ends_with("weight_shape")) return shape_beside(folder, tensor);
  if (tensor.dtype != "F8_E4M3" && tensor.dtype != "I32")
    return random_tensor(tensor.dtype, tensor.shape, seed);
  TestTensor out = random_tensor("F32", tensor.shape, seed);
  out.dtype = tensor.dtype;
  if (tensor.dtype == "I32") return out;
  std::string codes;
  for (std::size_t i = 0; i < out.bytes.size(); i += 4)
    codes.push_back(static_cast<char>(out.bytes[i + 2] & 0xBF));
  out.bytes = codes;
  return out;
}

}  // namespace

TestFile model_file(const ModelFolder& folder, std::uint64_t seed) {
  TestFile out;
  out.metadata = {{"format", "pt"}};
  for (const ModelTensor& tensor : tensors_of(folder))
    out.tensors.emplace(tensor.name, drawn(folder, tensor, ++seed));
  return out;
}

void write_model(const ModelFolder& folder, std::uint64_t seed, const std::string& path) {
  std::filesystem::create_directories(path);
  write_text(path + "/model.safetensors", encode(model_file(folder, seed)));
  if (!folder.config.empty()) write_text(path + "/config.json", std::string(folder.config));
}

}  // namespace diecast::testing
