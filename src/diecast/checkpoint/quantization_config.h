// What a quantized model says of itself to the engines that load it: ModelOpt's quantization
// config, which vLLM, SGLang and TensorRT-LLM read, compressed-tensors', or the one of SGLang's
// MXFP8. (Keys: modelopt.torch.export's convert_hf_config, and what vLLM's ModelOptNvFp4Config asks
// for; compressed_tensors.quantization.QuantizationConfig; sglang's Fp8Config.)
#pragma once

#include <diecast/checkpoint/plan.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace diecast {

// Whether engines can read what the plan makes: not if it quantizes nothing, or row-scaled, as they
// have one weight_scale_2 a matrix.
bool is_engine_form(const Plan& plan);

// The text of hf_quant_config.json beside this config.json. None where the config is not
// ModelOpt's.
std::optional<std::string> hf_quant_config(const Plan& plan, std::string_view config);

// The text of config.json, with the same as its quantization_config in place of what other tools
// have said there of weights that are no longer theirs; what they said of the cache of keys and
// values (kv_cache_scheme) stays. None for a text that is no JSON object (but
// for Python's NaN and Infinity), and for one to which nothing is added or taken.
std::optional<std::string> quantized_model_config(std::string_view config, const Plan& plan);

// What a config.json, or a hf_quant_config.json, says of its weights in ModelOpt's way.
enum class Quantized : std::uint8_t { no, nvfp4, other };
Quantized quantized_by(std::string_view text);

// config.json without its quantization_config. None for a text that has none that says NVFP4; with
// `any` one that says something else goes too, wherever it is.
std::optional<std::string> plain_model_config(std::string_view config, bool any = false);

}  // namespace diecast
