// The tensors that go with the codes of a quantized weight: what each is, plan_quantize() says.
#pragma once

#include <diecast/base/text.h>
#include <diecast/checkpoint/plan.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

inline constexpr std::string_view kPackedPart = "weight_packed",
                                  kGlobalPart = "weight_global_scale",
                                  kInputGlobalPart = "input_global_scale";

// "X.weight" of X.weight_packed.
inline std::string unpacked_name(std::string_view packed) {
  return cat(packed.substr(0, packed.size() - kPackedPart.size()), "weight");
}

// Whether NVFP4 has compressed-tensors' names, and the reciprocals of ModelOpt's global scales.
inline bool has_reciprocals(const StoredForm& form) {
  return form.config == EngineConfig::compressed_tensors && !is_mx(form.format);
}

// Where the parts of a quantized weight go.
inline std::string codes_name(const std::string& weight, const StoredForm& form) {
  if (form.config == EngineConfig::gpt_oss) return weight + "_blocks";
  const bool packed = form.format == WeightFormat::mxfp4 || has_reciprocals(form);
  return packed ? part_name(weight, kPackedPart) : weight;
}
inline std::string scales_name(std::string_view weight, const StoredForm& form) {
  if (form.config == EngineConfig::gpt_oss) return cat(weight, "_scales");
  return part_name(weight, form.config == EngineConfig::sglang ? "weight_scale_inv" : kScalePart);
}
inline std::string scale_2_name(std::string_view weight, const StoredForm& form) {
  return part_name(weight, has_reciprocals(form) ? kGlobalPart : kScale2Part);
}
inline std::string input_scale_name(std::string_view weight, const StoredForm& form) {
  return part_name(weight, has_reciprocals(form) ? kInputGlobalPart : kInputScalePart);
}

// The shape of linear scales [.., rows, blocks] in another layout: in whole tiles.
inline std::vector<std::uint64_t> scales_in(ScaleLayout layout, std::vector<std::uint64_t> shape) {
  const auto round_up = [](std::uint64_t& size, int tile) {
    const auto each = static_cast<std::uint64_t>(tile);
    size = size / each * each + (size % each != 0 ? each : 0);
  };
  round_up(shape.back(), scale_tile_cols(layout));
  round_up(shape.end()[-2], scale_tile_rows(layout));
  return shape;
}

}  // namespace diecast
