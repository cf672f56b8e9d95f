// Model folders in a few lines each: names, shapes and configs of real architectures, and what must
// become of every tensor, written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

// A tensor a line: "! model.layers.{0..1}.self_attn.{q,k}_proj.weight [64,64] F32". What is in
// braces stands for one name each; the type is BF16 where none is given. `!`: it must be quantized;
// `-`: it must be gone, its values are in another; all others must be copied. A line without a
// bracket is none.
struct ModelFolder {
  std::string_view name;
  std::string_view config;
  std::string_view tensors;
  std::string_view refused = {};  // words of the one reason for which it must be refused
  bool loads = true;              // engines load it once it is quantized; not without a config
};

struct ModelTensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  bool quantized = false, gone = false;
};

std::vector<ModelTensor> tensors_of(const ModelFolder& folder);

// All of them, and those of one kind.
std::vector<ModelFolder> model_folders();
std::vector<ModelFolder> dense_folders();
std::vector<ModelFolder> mixture_folders();
std::vector<ModelFolder> multimodal_folders();
std::vector<ModelFolder> other_folders();

}  // namespace diecast::testing
