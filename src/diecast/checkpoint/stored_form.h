// In which format a model's weights are quantized, and to which engines' names and config.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace diecast {

// nvfp4_w4a16: engines do not quantize activations.
enum class WeightFormat : std::uint8_t { nvfp4, nvfp4_w4a16, mxfp8, mxfp4 };
constexpr auto words_of(WeightFormat) {
  return std::to_array<std::string_view>({"nvfp4", "nvfp4-w4a16", "mxfp8", "mxfp4"});
}
constexpr bool is_mx(WeightFormat format) {
  return format == WeightFormat::mxfp8 || format == WeightFormat::mxfp4;
}
// Elements under one block scale.
constexpr std::uint64_t scale_block(WeightFormat format) { return is_mx(format) ? 32 : 16; }

// FP8 (E4M3) weights that stay beside others, by how many values one scale is for: all of a matrix,
// a row, 128x128. The words are those of ModelOpt's config.
enum class Fp8Form : std::uint8_t { tensor, rows, blocks };
constexpr auto words_of(Fp8Form) {
  return std::to_array<std::string_view>({"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "FP8_PB_WO"});
}

// Whose names tensors have, and who wrote such a config first. gpt_oss: a model's own.
enum class EngineConfig : std::uint8_t { modelopt, compressed_tensors, sglang, gpt_oss };
constexpr auto words_of(EngineConfig) {
  return std::to_array<std::string_view>({"modelopt", "compressed-tensors", "sglang", "gpt-oss"});
}

struct StoredForm {
  WeightFormat format = WeightFormat::nvfp4;
  EngineConfig config = EngineConfig::modelopt;
  bool operator==(const StoredForm&) const = default;
};

// What is left open is nvfp4, and the config that most engines read the format by; of a gpt-oss
// mxfp4, and its own. Errors: not_supported (a pair that no engine reads).
Result<StoredForm> stored_form(std::optional<WeightFormat> format,
                               std::optional<EngineConfig> config, bool gpt_oss);

}  // namespace diecast
