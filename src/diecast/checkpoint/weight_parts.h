// The tensors that go with the codes of a quantized weight: what each is, plan_quantize() says.
#pragma once

#include <diecast/base/text.h>
#include <diecast/checkpoint/plan.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace diecast {

inline constexpr std::uint64_t kScaleBlock = 16;  // elements under one block scale

inline constexpr std::string_view kScalePart = "weight_scale", kScale2Part = "weight_scale_2",
                                  kInputScalePart = "input_scale";

// "model.up_proj.weight_scale" of "model.up_proj.weight", and "experts.up_proj_weight_scale" of
// "experts.up_proj".
inline std::string part_name(std::string_view weight, std::string_view part) {
  if (!weight.ends_with(kWeightSuffix)) return cat(weight, "_", part);
  return cat(weight.substr(0, weight.size() - kWeightSuffix.size()), ".", part);
}

// Where the codes and block scales of a quantized weight go.
inline std::string codes_name(const std::string& weight, const StoredForm& form) {
  return form.format == WeightFormat::mxfp4 ? part_name(weight, "weight_packed") : weight;
}
inline std::string scales_name(std::string_view weight, const StoredForm& form) {
  return part_name(weight, form.config == EngineConfig::sglang ? "weight_scale_inv" : kScalePart);
}

}  // namespace diecast
