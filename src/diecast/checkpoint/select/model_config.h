// What a model's config.json says that decides which weights are quantized. Whatever it does not
// say, or says in another type, is simply not known.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/checkpoint.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

inline constexpr std::string_view kModelConfig = "config.json";
inline constexpr std::string_view kQuantConfig = "hf_quant_config.json";
inline constexpr std::uint64_t kConfigLimit = 16 << 20;  // bytes

using BlockSize = std::array<std::uint64_t, 2>;  // rows, columns

struct ModelConfig {
  std::string model_type;  // of the language model, where it has one of its own
  // Repeated layers: in all, and of the two halves of an encoder-decoder model.
  std::optional<std::uint64_t> layers, encoder_layers, decoder_layers;
  std::optional<std::uint64_t> hidden_size, vocab_size;
  std::optional<std::uint64_t> experts;  // of a layer that has some
  bool shares_keys = false;              // some layers have no keys or values of their own
  // Which key says that the weights are quantized already, and how: "quantization_config, which
  // says fp8". Empty: none does.
  std::string quantized;
  std::string producer;   // who has quantized them, where the config says so: "modelopt"
  bool readable = false;  // in a form that is read
  bool nvfp4 = false;     // some or all of the weights are NVFP4, as a config says
  // Of FP8: weight_block_size, or the block_structure that all groups with blocks have.
  BlockSize blocks = {128, 128};
  std::string unread_blocks;  // why what the config says of them is not read; empty: it is
  // Of packed integers, which are read where they have four bits around zero: why they are not.
  std::string unread_integers;
  // How many of a row's integers have one scale, one of which is true of each weight; 0: all of the
  // row. Empty: not known.
  std::vector<std::uint64_t> integer_groups;
};

// `config` is the text of a config.json; what is no JSON object says nothing.
ModelConfig parse_model_config(std::string_view config);

// Of a checkpoint that was given as a folder or an index; what is not there says nothing, and a
// hf_quant_config.json counts as a quantization config. Errors: io_error.
Result<ModelConfig> read_model_config(const Checkpoint& checkpoint,
                                      FileSystem& files = system_files());

}  // namespace diecast
