// Names of codes and of their scales; see stored_forms.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/fp8_source.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/select/stored_forms.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <utility>

namespace diecast {

bool is_nvfp4(const CheckpointHeader& header, const TensorInfo& tensor) {
  if (tensor.dtype != StoredDType::u8) return false;
  const TensorInfo* scales = header.find(part_name(tensor.name, kScalePart));
  if (scales == nullptr || scales->dtype != StoredDType::f8_e4m3 ||
      header.find(part_name(tensor.name, kScale2Part)) == nullptr)
    return false;
  if (tensor.name.ends_with(kWeightSuffix)) return true;
  if (fused_bank(tensor.name).empty() || tensor.shape.size() != 3) return false;
  std::vector<std::uint64_t> of_columns = tensor.shape;  // of rows no tool keeps them together
  of_columns[1] /= 8;
  return tensor.shape[1] % 8 == 0 && scales->shape == of_columns;
}

bool is_packed_nvfp4(const CheckpointHeader& header, const TensorInfo& tensor) {
  const std::string end = cat(".", kPackedPart);
  if (tensor.dtype != StoredDType::u8 || !tensor.name.ends_with(end)) return false;
  const std::string weight = unpacked_name(tensor.name);
  const TensorInfo* scales = header.find(part_name(weight, kScalePart));
  return scales != nullptr && scales->dtype == StoredDType::f8_e4m3 &&
         header.find(part_name(weight, kGlobalPart)) != nullptr;
}

std::optional<ScaledSource> nvfp4_source(const CheckpointHeader& header, const TensorInfo& tensor,
                                         const Nvfp4Conversion& conversion) {
  const bool packed = is_packed_nvfp4(header, tensor);
  const bool plain = is_nvfp4(header, tensor) && tensor.name.ends_with(kWeightSuffix);
  const StoredForm form{WeightFormat::nvfp4,
                        packed ? EngineConfig::compressed_tensors : EngineConfig::modelopt};
  const std::optional<Nvfp4Layout>& layout = conversion.layout;
  const bool other = layout ? plain : (packed || plain) && conversion.to != form.config;
  if (!other || tensor.shape.size() != 2) return std::nullopt;
  const std::string weight = packed ? unpacked_name(tensor.name) : tensor.name;
  const TensorInfo& scales = *header.find(scales_name(weight, form));
  const TensorInfo& global = *header.find(scale_2_name(weight, form));
  const std::vector<std::uint64_t> want =
      scales_in(layout.value_or(Nvfp4Layout{}).scales, {tensor.shape[0], tensor.shape[1] / 8});
  if (tensor.bytes() == 0 || tensor.shape[1] % 8 != 0 || scales.shape != want ||
      global.dtype != StoredDType::f32 || global.elements() != 1)
    return std::nullopt;
  ScaledSource out{scales.name, 1, kScaleBlock, tensor.name, CodeForm::nvfp4};
  out.global = global.name;
  const TensorInfo* const input = header.find(input_scale_name(weight, form));
  if (input != nullptr && input->dtype == StoredDType::f32 && input->elements() == 1)
    out.input = input->name;
  return out;
}

std::optional<Nvfp4Conversion> conversion_of(const CheckpointHeader& header,
                                             const QuantizeOptions& options) {
  const bool nvfp4 = !options.format || !is_mx(*options.format);
  const bool asked = options.config || options.layout;
  if (!asked || !nvfp4 || !options.mxfp8.empty() || options.row_scaled) return std::nullopt;
  const Nvfp4Conversion out{options.config.value_or(EngineConfig::modelopt), options.layout};
  const bool any = std::ranges::any_of(header.tensors, [&](const TensorInfo& tensor) {
    return nvfp4_source(header, tensor, out).has_value();
  });
  return any ? std::optional(out) : std::nullopt;
}

namespace {

// What the scales of a weight may be called.
std::vector<std::string> names_of_scales(std::string_view weight) {
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {".weight", ".weight_scale_inv"},    {".weight", ".weight_scale"}, {".weight", ".scale"},
      {".weight_packed", ".weight_scale"}, {"_blocks", "_scales"},       {".qweight", ".scales"}};
  std::vector<std::string> out;
  for (const auto& [end, part] : kForms)
    if (weight.ends_with(end))
      out.push_back(cat(weight.substr(0, weight.size() - end.size()), part));
  for (const std::string_view part : {"_weight_scale", "_scale_inv"})
    if (!weight.ends_with(kWeightSuffix)) out.push_back(cat(weight, part));
  return out;
}

bool may_be_codes(const TensorInfo& tensor) {
  const bool words = tensor.dtype == StoredDType::i32;  // of packed integers
  return (words || stored_dtype_bits(tensor.dtype) <= 8) && tensor.shape.size() >= 2;
}

// Whether such a tensor is the codes of a weight, whatever stands beside it.
bool is_codes(const TensorInfo& tensor, const ModelConfig& model) {
  using enum StoredDType;
  const std::string_view name = tensor.name;
  if (!may_be_codes(tensor) || tensor.bytes() == 0) return false;
  if (name.ends_with(".weight_packed") || name.ends_with(".qweight")) return true;
  if (name.ends_with("_blocks"))
    return !fused_bank(name.substr(0, name.size() - std::string_view("_blocks").size())).empty();
  const bool fp8 = tensor.dtype == f8_e4m3 || tensor.dtype == f8_e5m2;
  const bool bytes = tensor.dtype == u8 || tensor.dtype == i8 || tensor.dtype == f4;
  return (name.ends_with(kWeightSuffix) || !fused_bank(name).empty()) &&
         (fp8 || (bytes && !model.quantized.empty()));
}

}  // namespace

bool has_scales(const CheckpointHeader& header, const TensorInfo& tensor) {
  return may_be_codes(tensor) &&
         std::ranges::any_of(names_of_scales(tensor.name),
                             [&](const std::string& name) { return header.find(name) != nullptr; });
}

Result<void> refuse_unscaled(const CheckpointHeader& header, const ModelConfig& model) {
  for (const TensorInfo& tensor : header.tensors) {
    if (!is_codes(tensor, model) || has_scales(header, tensor)) continue;
    std::vector<std::string> names;
    for (const std::string& name : names_of_scales(tensor.name)) names.push_back(quote(name));
    return Error{ErrorCode::file_corrupt,
                 cat(quote(tensor.name), " is ", stored_dtype_name(tensor.dtype),
                     " and has no scales: there is no ", join(names, " and no ")),
                 "add the file that has them, or its line in the index; without scales nobody "
                 "knows the values"};
  }
  return {};
}

Result<void> refuse_half_scaled(const CheckpointHeader& header, const ModelConfig& model) {
  if (!model.nvfp4) return {};
  for (const TensorInfo& tensor : header.tensors) {
    const bool packed = tensor.name.ends_with(cat(".", kPackedPart));
    const std::string weight = packed ? unpacked_name(tensor.name) : tensor.name;
    const TensorInfo* scales = header.find(part_name(weight, kScalePart));
    if (tensor.dtype != StoredDType::u8 || scales == nullptr ||
        scales->dtype != StoredDType::f8_e4m3 || is_nvfp4(header, tensor) ||
        is_packed_nvfp4(header, tensor))
      continue;
    const std::string global = part_name(weight, packed ? kGlobalPart : kScale2Part);
    if (header.find(global) != nullptr) continue;
    return Error{ErrorCode::file_corrupt,
                 cat(quote(tensor.name), " is NVFP4, as the config says, and has no global scale: ",
                     "there is no ", quote(global)),
                 "add the file that has it, or its line in the index; without it nobody knows the "
                 "values"};
  }
  return {};
}

Result<void> refuse_comfy(const CheckpointHeader& header) {
  std::string marker;
  for (const Metadata& metadata : header.metadata)
    if (metadata.contains(std::string(kComfyMetadata)))
      marker = cat("the metadata ", kComfyMetadata);
  for (const TensorInfo& tensor : header.tensors)
    if (tensor.name.ends_with(kComfyTensor)) marker = cat("the tensor ", quote(tensor.name));
  const bool nvfp4 = std::ranges::any_of(
      header.tensors, [&](const TensorInfo& tensor) { return is_nvfp4(header, tensor); });
  if (marker.empty() || !nvfp4) return {};
  return Error{ErrorCode::not_supported,
               cat("the file is quantized for ComfyUI, as ", marker,
                   " says, and its scales may lie in tiles"),
               "--scale-layout 128x4 reads it, if they do; or give the model that it was made of"};
}

namespace {

// Experts of MXFP4 that engines read as they are, where nobody has asked for another form.
const TensorInfo* cast_unasked(const CheckpointHeader& header, const QuantizeOptions& options) {
  if (options.format) return nullptr;
  const auto found = std::ranges::find_if(header.tensors, [&](const TensorInfo& tensor) {
    const auto source = packed_source(header, tensor);
    return source && source->of_experts;
  });
  return found == header.tensors.end() ? nullptr : &*found;
}

}  // namespace

Result<void> refuse_quantized(const CheckpointHeader& header, const QuantizeOptions& options) {
  const std::optional<Nvfp4Conversion> converted = conversion_of(header, options);
  for (const Metadata& metadata : header.metadata) {
    const auto ours = metadata.lower_bound("diecast.");
    if (ours == metadata.end() || !ours->first.starts_with("diecast.")) continue;
    if (converted && !options.layout) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("the input is quantized already: its metadata has ", quote(ours->first)),
                 "run `diecast dequantize` on it first; --config gives NVFP4 other names"};
  }
  if (options.layout && !converted) {
    return Error{ErrorCode::not_supported,
                 "no matrix of NVFP4 has ModelOpt's names and block scales in the given layout",
                 "leave out --scale-layout and --nibbles, or give the layout that it has"};
  }
  if (options.force) return {};
  if (!options.layout) DIECAST_CHECK(refuse_comfy(header));
  DIECAST_CHECK(refuse_misfits(header));
  const TensorInfo* unread = nullptr;  // a form that is not read
  for (const TensorInfo& tensor : header.tensors) {
    DIECAST_TRY(const auto source, fp8_source(header, tensor, options.model));
    const bool read = source || packed_source(header, tensor) ||
                      (converted && nvfp4_source(header, tensor, *converted));
    if (!read && has_scales(header, tensor)) unread = &tensor;
    if (unread != nullptr) break;
  }
  constexpr std::string_view kFix =
      "give the model that it was made of; --force quantizes what is floating point, which no "
      "engine loads";
  if (!options.model.quantized.empty() && !options.model.readable && !converted) {
    return Error{ErrorCode::not_supported,
                 cat("the model is quantized already: its config has ", options.model.quantized),
                 std::string(kFix)};
  }
  if (const TensorInfo* experts = cast_unasked(header, options)) {
    return Error{ErrorCode::not_supported,
                 cat("the model is quantized already: ", quote(experts->name),
                     " is MXFP4, which engines read"),
                 "`--format nvfp4` casts it without rounding; `diecast dequantize --to bf16` makes "
                 "it a BF16 model"};
  }
  if (unread == nullptr) return refuse_unscaled(header, options.model);
  DIECAST_TRY(const auto experts, fp8_experts_source(header, *unread, options.model));
  return Error{
      ErrorCode::not_supported,
      cat("the model is quantized already: ", quote(unread->name), " is ",
          stored_dtype_name(unread->dtype), " and has scales"),
      experts ? "`diecast dequantize --to bf16` makes a BF16 model of it, which can be quantized"
              : std::string(kFix)};
}

}  // namespace diecast
