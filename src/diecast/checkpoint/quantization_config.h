// What a quantized model says of itself to the engines that load it: ModelOpt's quantization
// config, which vLLM, SGLang and TensorRT-LLM read. (Keys: modelopt.torch.export's
// convert_hf_config, and what vLLM's ModelOptNvFp4Config asks for.)
#pragma once

#include <diecast/checkpoint/plan.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace diecast {

// The text of hf_quant_config.json. None for a plan that quantizes nothing, or row-scaled: engines
// have one weight_scale_2 a matrix.
std::optional<std::string> hf_quant_config(const Plan& plan);

// The text of config.json, with the same as its quantization_config in place of what other tools
// have said there of weights that are no longer theirs. None for a text that is no JSON object (but
// for Python's NaN and Infinity), and for one to which nothing is added or taken.
std::optional<std::string> quantized_model_config(std::string_view config, const Plan& plan);

// What a config.json, or a hf_quant_config.json, says of its weights in ModelOpt's way.
enum class Quantized : std::uint8_t { no, nvfp4, other };
Quantized quantized_by(std::string_view text);

// config.json without its quantization_config. None for a text that has none that says NVFP4; with
// `any` one that says something else goes too, wherever it is.
std::optional<std::string> plain_model_config(std::string_view config, bool any = false);

}  // namespace diecast
