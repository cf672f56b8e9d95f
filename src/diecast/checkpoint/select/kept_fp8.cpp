// Which FP8 has a name in a config that says two formats; see kept_fp8.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/select/kept_fp8.h>
#include <diecast/checkpoint/verify/engine_rules.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr std::uint64_t kBlock = 128;

std::uint64_t blocks(std::uint64_t size) { return size / kBlock + (size % kBlock != 0); }

bool has_input_scale(const CheckpointHeader& header, const std::string& weight) {
  const TensorInfo* const found = header.find(part_name(weight, kInputScalePart));
  return found != nullptr && found->dtype == StoredDType::f32 && found->elements() == 1;
}

}  // namespace

bool may_stay_fp8(const LanguageModel& model, std::string_view weight) {
  const auto layer = layer_part(weight);
  return layer && model.outside(weight).empty() && kept_kind(layer->inside).empty();
}

Result<Fp8Form> kept_fp8_form(const CheckpointHeader& header, const TensorInfo& weight,
                              const ScaledSource& source) {
  const std::uint64_t rows = weight.shape[0], cols = weight.shape[1];
  const bool expert = !expert_bank(weight.name).empty();
  std::string why;
  if (source.block_rows == kBlock && source.block_cols == kBlock) {
    if (cols % kBlock == 0) return Fp8Form::blocks;
    why = cat("rows of ", cols, ", no whole blocks of ", kBlock);
  } else if (source.block_rows == rows && source.block_cols == cols) {
    if (has_input_scale(header, weight.name)) return Fp8Form::tensor;
    why = "one scale and no F32 input_scale";
  } else if (source.block_rows == 1 && source.block_cols == cols) {
    if (!expert) return Fp8Form::rows;
    why = "a scale a row, and is an expert";
  } else {
    why = cat("scales for blocks of ", source.block_rows, "x", source.block_cols);
  }
  return Error{ErrorCode::not_supported,
               cat("the FP8 weight ", quote(weight.name), " has ", why,
                   ": no engine's config says that beside another format"),
               "leave out --keep-fp8: it becomes BF16"};
}

std::vector<TensorInfo> kept_fp8_outputs(const std::string& weight,
                                         const std::vector<std::uint64_t>& shape, Fp8Form form) {
  const std::string scale = part_name(weight, kScalePart);
  std::vector<TensorInfo> out = {{weight, StoredDType::f8_e4m3, shape}};
  switch (form) {
    case Fp8Form::tensor:
      out.push_back({scale, StoredDType::f32, {}});
      out.push_back({part_name(weight, kInputScalePart), StoredDType::f32, {}});
      break;
    case Fp8Form::rows:
      out.push_back({scale, StoredDType::f32, {shape[0]}});
      break;
    case Fp8Form::blocks: {
      const std::uint64_t rows = blocks(shape[0]), cols = blocks(shape[1]);
      if (expert_bank(weight).empty())
        out.push_back({scale, StoredDType::f32, {rows, 1, cols, 1}});
      else
        out.push_back({part_name(weight, "weight_scale_inv"), StoredDType::f32, {rows, cols}});
      break;
    }
  }
  return out;
}

Result<void> check_keep_fp8(const QuantizeOptions& options, const StoredForm& form) {
  if (!options.keep_fp8 || (form.config == EngineConfig::modelopt && !options.row_scaled))
    return {};
  return Error{ErrorCode::not_supported,
               "FP8 beside another format, in another config than ModelOpt's or with row scales",
               "leave out --keep-fp8, or take --config modelopt and no --row-scale"};
}

std::string note_of_kept_fp8(const Plan& plan) {
  const auto stays = [](const PlannedTensor& tensor) { return tensor.fp8.has_value(); };
  const auto count = std::ranges::count_if(plan.tensors, stays);
  if (count == 0) return {};
  std::string engines, others;
  for (const Engine engine : kEngines) {
    const bool all = std::ranges::all_of(plan.tensors, [&](const PlannedTensor& tensor) {
      return !tensor.fp8 || reads(engine, *tensor.fp8);
    });
    std::string& to = all ? engines : others;
    to += cat(to.empty() ? "" : " and ", engine_title(engine));
  }
  return cat(count, " FP8 weights stay as they are, which ", engines, " reads beside ",
             word(plan.form.format), others.empty() ? "" : cat(" and ", others, " does not"));
}

}  // namespace diecast
