// From the decision to the files that come of it.
#include <diecast/base/text.h>
#include <diecast/checkpoint/input_scales.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/plan_groups.h>
#include <diecast/checkpoint/plan_outputs.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <diecast/checkpoint/select/decide.h>
#include <diecast/checkpoint/select/kept_fp8.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/select/stored_forms.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace diecast {
namespace {

// What ours says of types stays true of weights that stay quantized.
Metadata converted_metadata(const Metadata& old, const Plan& plan) {
  Metadata kept = old;
  kept.erase(std::string(kComfyMetadata));
  const auto said = kept.find(std::string(kDtypesKey));
  if (said == kept.end()) return kept;
  nlohmann::json dtypes = nlohmann::json::parse(said->second, nullptr, false);
  for (const PlannedTensor& tensor : plan.tensors)
    if (tensor.action != Action::quantize && dtypes.is_object()) dtypes.erase(tensor.name);
  said->second = dtypes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return kept;
}

Metadata quantized_metadata(const Metadata& old, const Plan& plan, std::uint32_t file) {
  if (plan.converted) return converted_metadata(old, plan);
  if (plan.groups.empty()) return old;
  nlohmann::json dtypes = nlohmann::json::object();
  for (const PlannedTensor& tensor : plan.tensors) {
    if ((tensor.action == Action::quantize || tensor.fp8) && tensor.file == file)
      dtypes[tensor.name] = tensor.scaled ? "BF16" : stored_dtype_name(tensor.dtype);
  }
  Metadata metadata = old;
  // transformers loads a file without metadata as PyTorch's, and none whose metadata lack this.
  metadata.emplace("format", "pt");
  const bool mx = is_mx(plan.form.format);
  metadata.emplace(kFormatKey, mx ? word(plan.form.format) : word(WeightFormat::nvfp4));
  if (!mx) metadata.emplace(kProfileKey, word(plan.scheme.profile));
  if (plan.scheme.four_over_six != FourOverSix::off)
    metadata.emplace(kFourOverSixKey, word(plan.scheme.four_over_six));
  if (plan.scheme.e4m3_bound != Nvfp4Scheme{}.e4m3_bound)
    metadata.emplace(kBoundKey, cat(plan.scheme.e4m3_bound));
  nlohmann::json split = nlohmann::json::object();
  for (const SplitTensor& tensor : plan.split)
    if (tensor.file == file)
      split[tensor.name] = {{"columns", tensor.columns}, {"shape", tensor.shape}};
  if (!split.empty())
    metadata.emplace(kExpertsKey,
                     split.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  metadata.emplace(kDtypesKey,
                   dtypes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return metadata;
}

// Several matrices or global scales in one tensor are ModelOpt's NVFP4 alone, or gpt-oss's.
bool is_written(const PlannedTensor& tensor, const StoredForm& form) {
  const bool one = tensor.matrices.matrices == 1 && !tensor.row_scaled;
  return one || form.config == EngineConfig::gpt_oss ||
         (form.config == EngineConfig::modelopt && !is_mx(form.format));
}

Error not_one(const PlannedTensor& tensor, const StoredForm& form) {
  return {
      ErrorCode::not_supported,
      cat(quote(tensor.name), " has several matrices or global scales, which no engine reads in ",
          word(form.format), " of ", word(form.config)),
      cat("leave it out with --exclude ", quote(glob_of(tensor.stored_in())),
          ", or take --format nvfp4 and --config modelopt")};
}

Result<void> lay_out_plan(const CheckpointHeader& header, Plan& plan) {
  std::vector<std::vector<TensorInfo>> outputs(header.metadata.size());
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.action == Action::quantize && !is_written(tensor, tensor.form))
      return not_one(tensor, tensor.form);
    for (TensorInfo& output : outputs_of(tensor)) {
      // Scales of FP8 weights make room; a weight stands once among the tensors itself.
      const auto begin =
          std::ranges::lower_bound(plan.tensors, output.name, {}, &PlannedTensor::name);
      const auto end =
          std::ranges::upper_bound(plan.tensors, output.name, {}, &PlannedTensor::name);
      if (end - begin > (output.name == tensor.name ? 1 : 0)) {
        return Error{ErrorCode::invalid_argument,
                     cat("quantizing ", quote(tensor.stored_in()), " writes ", quote(output.name),
                         ", but the input has a tensor of that name"),
                     cat("leave it out with --exclude ", quote(glob_of(tensor.stored_in())))};
      }
      outputs[tensor.file].push_back(std::move(output));
    }
  }
  for (std::uint32_t file = 0; file < outputs.size(); ++file) {
    Metadata metadata = quantized_metadata(header.metadata[file], plan, file);
    DIECAST_TRY(SafetensorsHeader output, lay_out(std::move(outputs[file]), std::move(metadata)));
    plan.outputs.push_back(std::move(output));
  }
  return {};
}

Result<void> check_scheme(const Nvfp4Scheme& scheme) {
  if (std::ranges::find(kCheckpointProfiles, scheme.profile) == std::end(kCheckpointProfiles)) {
    return Error{ErrorCode::not_supported, cat("a checkpoint under profile ", word(scheme.profile)),
                 cat("choose one of ", join(checkpoint_profile_names(), ", "))};
  }
  const bool adaptive = scheme.four_over_six != FourOverSix::off;
  if (adaptive && scheme.profile != Profile::te) {
    return Error{ErrorCode::not_supported,
                 cat("four over six under profile ", word(scheme.profile)), "--profile te has it"};
  }
  const bool half = adaptive || scheme.profile == Profile::modelopt;
  if (scheme.e4m3_bound == 448 || (scheme.e4m3_bound == 256 && half)) return {};
  return Error{ErrorCode::not_supported,
               cat("an E4M3 bound of ", scheme.e4m3_bound, " under profile ", word(scheme.profile),
                   adaptive ? " with four over six" : ""),
               "448 always; 256 with four over six, or with --profile modelopt"};
}

// What NVFP4 alone has.
Result<void> check_mx(const QuantizeOptions& options) {
  const Nvfp4Scheme plain;
  const bool scheme = options.scheme.profile != plain.profile ||
                      options.scheme.four_over_six != plain.four_over_six ||
                      options.scheme.e4m3_bound != plain.e4m3_bound;
  if (!scheme && !options.row_scaled && options.experts == ExpertForm::split) return {};
  return Error{ErrorCode::not_supported,
               cat(scheme               ? "another profile, four over six or an E4M3 bound"
                   : options.row_scaled ? "a global scale a row"
                                        : "experts in one tensor",
                   " in an MX format"),
               "--format nvfp4 has them"};
}

// ModelOpt's config alone says of each weight what it is.
Result<void> check_mixed(const QuantizeOptions& options, const StoredForm& form) {
  if (form.config == EngineConfig::modelopt && !is_mx(form.format) && !options.row_scaled)
    return {};
  return Error{ErrorCode::not_supported,
               "two formats in one model, other than MXFP8 beside NVFP4 in ModelOpt's config",
               "leave out --mxfp8, or take --format nvfp4 or nvfp4-w4a16, --config modelopt, and "
               "no --row-scale"};
}

// A config may be left over from a model that this one was made of.
void note_untrue(const ModelConfig& model, Plan& plan) {
  const auto scaled = [](const PlannedTensor& tensor) { return tensor.scaled.has_value(); };
  if (!model.readable || plan.converted || std::ranges::any_of(plan.tensors, scaled)) return;
  plan.notes.push_back(cat("no weight has scales, though the model's config has ", model.quantized,
                           ": that is taken out"));
}

// Whoever quantizes a model has a reason to think that there is something to quantize.
Result<void> refuse_nothing(const QuantizeOptions& options, Plan& plan) {
  if (!plan.groups.empty()) return {};
  plan.notes.emplace_back("no tensor is quantized: all are copied");
  if (options.force) return {};
  const auto why = std::ranges::find_if(plan.tensors, [](const PlannedTensor& tensor) {
    return tensor.shape.size() > 1 && tensor.name.ends_with(kWeightSuffix);
  });
  return Error{
      ErrorCode::invalid_argument,
      cat("no tensor is quantized",
          why == plan.tensors.end() ? ""
                                    : cat(", ", quote(why->name), " not, for one: ", why->reason)),
      "--dry-run --force says why of each, --include quantizes what it names"};
}

}  // namespace

std::string_view action_name(Action action) {
  switch (action) {
    case Action::copy:
      return "copy";
    case Action::quantize:
      return "quantize";
    case Action::dequantize:
      return "dequantize";
  }
  return "";
}

std::vector<std::string> checkpoint_profile_names() {
  std::vector<std::string> names;
  for (const Profile profile : kCheckpointProfiles) names.emplace_back(word(profile));
  return names;
}

Result<Plan> plan_quantize(const CheckpointHeader& header, const QuantizeOptions& options) {
  Plan plan;
  plan.allow_nonfinite = options.allow_nonfinite;
  plan.scheme = options.scheme;
  DIECAST_TRY(plan.form,
              stored_form(options.format, options.config, options.model.model_type == "gpt_oss"));
  if (is_mx(plan.form.format)) DIECAST_CHECK(check_mx(options));
  if (!options.mxfp8.empty()) DIECAST_CHECK(check_mixed(options, plan.form));
  DIECAST_CHECK(check_keep_fp8(options, plan.form));
  plan.input_scale = options.input_scale;
  if (!std::isfinite(plan.input_scale) || plan.input_scale <= 0) {
    return Error{ErrorCode::invalid_argument, "an input scale that is no positive number",
                 "give amax / 2688 of the activations, 1.0 where it is not known"};
  }
  DIECAST_CHECK(check_scheme(plan.scheme));
  DIECAST_CHECK(decide(header, options, plan));
  note_untrue(options.model, plan);
  form_groups(header, plan);
  DIECAST_CHECK(refuse_nothing(options, plan));
  for (PlannedTensor& tensor : plan.tensors) tensor.input_scale = plan.input_scale;
  DIECAST_CHECK(take_input_scales(options.input_scales, plan));
  DIECAST_CHECK(lay_out_plan(header, plan));
  return plan;
}

Result<Plan> plan_quantize(const Checkpoint& checkpoint, QuantizeOptions options,
                           FileSystem& files) {
  DIECAST_TRY(options.model, read_model_config(checkpoint, files));
  DIECAST_CHECK(check_weight_shapes(checkpoint));
  return plan_quantize(checkpoint.header(), options);
}

}  // namespace diecast
