// What a plan would have written, held against what is there; see found_weights.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan_outputs.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/verify/found_weights.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>

namespace diecast {
namespace {

// The weight of these codes; empty: they are none.
std::string weight_of(const TensorInfo& tensor) {
  constexpr std::string_view kPacked = ".weight_packed", kBlocks = "_blocks";
  const std::string& name = tensor.name;
  if (name.ends_with(kPacked)) return unpacked_name(name);
  if (name.ends_with(kBlocks)) {
    const std::string experts = name.substr(0, name.size() - kBlocks.size());
    return fused_bank(experts).empty() ? "" : experts;
  }
  const bool narrow = tensor.dtype != StoredDType::boolean && stored_dtype_bits(tensor.dtype) <= 8;
  const bool is_weight = name.ends_with(kWeightSuffix) || !fused_bank(name).empty();
  return narrow && is_weight && tensor.shape.size() > 1 ? name : "";
}

// The weight of a tensor that is called as its scales are; else empty.
std::string scaled_weight(std::string_view name) {
  for (const std::string_view part :
       {kScalePart, kScale2Part, kGlobalPart, std::string_view("weight_scale_inv")}) {
    if (!name.ends_with(part)) continue;
    const std::string_view stem = name.substr(0, name.size() - part.size());
    if (stem.ends_with('.')) return cat(stem, "weight");
    if (stem.ends_with('_') && !fused_bank(stem.substr(0, stem.size() - 1)).empty())
      return std::string(stem.substr(0, stem.size() - 1));
  }
  constexpr std::string_view kScales = "_scales";
  if (!name.ends_with(kScales)) return {};
  name.remove_suffix(kScales.size());
  return fused_bank(name).empty() ? "" : std::string(name);
}

// The weight as a plan has it whose output these codes are; none: no plan has such.
std::optional<PlannedTensor> planned_as(const TensorInfo& codes, const FoundWeight& weight,
                                        const StoredForm& form) {
  PlannedTensor out;
  out.name = weight.name;
  out.action = Action::quantize;
  out.form = form;
  out.shape = codes.shape;
  out.fused = !weight.name.ends_with(kWeightSuffix);
  const std::uint64_t block = scale_block(form.format);
  if (form.config == EngineConfig::gpt_oss) {
    if (!out.fused || out.shape.size() != 4 || out.shape[3] != block / 2) return std::nullopt;
    out.matrices = {out.shape[0], out.shape[1], out.shape[2] * block};
    return out;
  }
  const bool nvfp4 = form.config == EngineConfig::modelopt && !is_mx(form.format);
  if (out.shape.size() != (out.fused ? 3 : 2) || (out.fused && !nvfp4)) return std::nullopt;
  out.shape[1] *= form.format == WeightFormat::mxfp8 ? 1 : 2;
  out.matrices = matrices_of(out.shape, out.fused);
  return out.matrices.cols % block == 0 ? std::optional(out) : std::nullopt;
}

std::string described(const TensorInfo& tensor) {
  return cat(quote(tensor.name), " ", stored_dtype_name(tensor.dtype), " ",
             shape_text(tensor.shape));
}

}  // namespace

FoundWeights find_weights(const CheckpointHeader& header) {
  FoundWeights out;
  out.named = header;
  std::set<std::string> weights;
  for (TensorInfo& tensor : out.named.tensors) {
    PlannedTensor planned;
    std::string weight = weight_of(tensor);
    if (!weight.empty()) {
      planned.action = Action::quantize;
      out.weights.push_back({weight, tensor.name});
      weights.insert(weight);
      tensor.name = std::move(weight);
    }
    planned.name = tensor.name;
    planned.dtype = tensor.dtype;
    planned.shape = tensor.shape;
    out.plan.tensors.push_back(std::move(planned));
  }
  std::ranges::stable_sort(out.named.tensors, {}, &TensorInfo::name);
  for (const TensorInfo& tensor : header.tensors) {
    const std::string weight = scaled_weight(tensor.name);
    if (!weight.empty() && !weights.contains(weight)) out.lone_scales.push_back(tensor.name);
  }
  return out;
}

namespace {

// The tensors of a weight, held against those that it should have.
std::vector<PartFault> held_against(const CheckpointHeader& header, const FoundWeight& weight,
                                    const std::vector<TensorInfo>& wanted, std::string_view title) {
  std::vector<PartFault> out;
  for (const TensorInfo& want : wanted) {
    const TensorInfo* const found = header.find(want.name);
    const bool scalar = want.shape.size() < 2;
    if (found == nullptr)
      out.push_back({cat("no ", want.name.substr(weight.module().size())),
                     cat(quote(weight.name), " has no ", quote(want.name),
                         ": engines then use what is in memory")});
    else if (found->dtype != want.dtype ||
             (scalar ? found->elements() != want.elements() : found->shape != want.shape))
      out.push_back(
          {cat("part ", scalar), cat(described(*found), " is not ", stored_dtype_name(want.dtype),
                                     " ", shape_text(want.shape), ", as ", title, " has it")});
  }
  return out;
}

}  // namespace

std::vector<PartFault> part_faults(const CheckpointHeader& header, const FoundWeight& weight,
                                   const StoredForm& form) {
  const TensorInfo& codes = *header.find(weight.codes);
  const std::string title = cat(word(form.format), " of ", word(form.config));
  const auto planned = planned_as(codes, weight, form);
  if (!planned || codes.name != codes_name(weight.name, form))
    return {{"codes", cat(described(codes), " is not what a weight is in ", title)}};
  return held_against(header, weight, outputs_of(*planned), title);
}

std::vector<PartFault> part_faults(const CheckpointHeader& header, const FoundWeight& weight,
                                   const Fp8Layout& layout) {
  const TensorInfo& codes = *header.find(weight.codes);
  const bool any_float = layout.names != Fp8Names::modelopt;
  const std::string title = fp8_title(layout);
  if (codes.name != weight.name || codes.shape.size() != 2)
    return {{"codes", cat(described(codes), " is not what a weight is in ", title)}};
  std::vector<TensorInfo> wanted = fp8_tensors(weight.name, codes.shape, layout);
  for (TensorInfo& scale : std::span(wanted).subspan(1)) {
    const TensorInfo* const found = header.find(scale.name);
    if (any_float && found != nullptr && float_dtype(found->dtype)) scale.dtype = found->dtype;
  }
  return held_against(header, weight, wanted, title);
}

}  // namespace diecast
