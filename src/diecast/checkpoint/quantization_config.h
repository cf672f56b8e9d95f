// What a quantized model says of itself to the engines that load it: ModelOpt's quantization
// config, which vLLM, SGLang and TensorRT-LLM read. (Keys: modelopt.torch.export's
// convert_hf_config, and what vLLM's ModelOptNvFp4Config asks for.)
#pragma once

#include <diecast/checkpoint/plan.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// Modules of floating-point matrices that the plan copies, by name: of X.weight X, of experts in
// one tensor their module, if nothing in it is quantized.
std::vector<std::string> unquantized_modules(const Plan& plan);

// The text of hf_quant_config.json. None for a plan that quantizes nothing, or row-scaled: engines
// have one weight_scale_2 a matrix.
std::optional<std::string> hf_quant_config(const Plan& plan);

// The text of config.json, with the same as its quantization_config. None, too, for a text that is
// no JSON object, or that has such a config already.
std::optional<std::string> quantized_model_config(std::string_view config, const Plan& plan);

// Whether a quantization_config, or a hf_quant_config.json, says NVFP4 in ModelOpt's way.
bool says_nvfp4(const nlohmann::ordered_json& config);

// config.json without its quantization_config. None for a text that is no JSON object, or has none
// that says NVFP4.
std::optional<std::string> plain_model_config(std::string_view config);

}  // namespace diecast
