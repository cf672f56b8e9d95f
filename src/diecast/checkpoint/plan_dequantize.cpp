// The way back: which tensors are quantized weights, whether their parts fit, what they become.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/plan_read_back.h>
#include <diecast/checkpoint/plan_splits.h>
#include <diecast/checkpoint/quantized_metadata.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <diecast/checkpoint/select/fp8_source.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/select/stored_forms.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <map>
#include <set>

namespace diecast {
namespace {

// Another tool's files, those without our metadata: U8 weights that have both scales of NVFP4. Such
// files may have weights of other formats too: MX, for one, has block scales alone.
Types types_of_tensors(const CheckpointHeader& header) {
  Types types;
  for (const TensorInfo& tensor : header.tensors) {
    if (is_ours(header.metadata[tensor.file])) continue;
    if (is_nvfp4(header, tensor)) types.emplace(tensor.name, std::nullopt);
    if (is_packed_nvfp4(header, tensor)) types.emplace(unpacked_name(tensor.name), std::nullopt);
  }
  return types;
}

constexpr std::string_view kOtherForm =
    "but its scales are not of NVFP4, MX, FP8 or INT4 in a form that is read";

// "4 tensors are copied, "X" the first: WHY"
void note(const std::vector<std::string_view>& copied, std::string_view why, Plan& plan) {
  if (copied.empty()) return;
  const std::string first = quote(copied[0]);
  plan.notes.push_back(copied.size() == 1 ? cat(first, " is copied: ", why)
                                          : cat(copied.size(), " tensors are copied, ", first,
                                                " the first: each is ", why));
}

Metadata original_metadata(const Metadata& metadata) {
  Metadata kept = metadata;
  std::erase_if(kept, [](const auto& entry) { return entry.first.starts_with("diecast."); });
  return kept;
}

using Outputs = std::vector<std::vector<TensorInfo>>;  // of each file

Error no_type(const std::string& name) {
  return {ErrorCode::value_missing, cat("the file does not say which type ", quote(name), " had"),
          "name one with --to bf16, f16 or f32"};
}

// Adds one quantized weight to the plan and its floating-point form to the outputs. `old`: its
// type, which our metadata says of every weight that it lists.
Result<void> add_weight(const CheckpointHeader& header, const std::string& name,
                        std::optional<DType> old, std::optional<DType> to,
                        const Nvfp4Layout& layout, Splits& splits, Plan& plan, Outputs& outputs) {
  DIECAST_TRY(PlannedTensor tensor, read_back(header, name, old.has_value(), layout));
  const std::optional<DType> type = to ? to : old;
  if (!type) return no_type(name);
  tensor.to = *type;
  DIECAST_TRY(const bool is_part, splits.put_back(tensor, *type));
  if (!is_part) {
    TensorInfo output{name, stored_dtype(*type), tensor.shape};
    (tensor.fused ? output.shape[1] : output.shape.back()) *= 2;
    outputs[tensor.file].push_back(std::move(output));
  }
  plan.tensors.push_back(std::move(tensor));
  return {};
}

// The same of a weight in another form.
Result<void> add_scaled(const TensorInfo& tensor, const ScaledSource& source,
                        std::optional<DType> to, Splits& splits, Plan& plan, Outputs& outputs) {
  if (!to) return no_type(tensor.name);
  PlannedTensor out;
  out.name = tensor.name;
  out.dtype = tensor.dtype;
  out.shape = tensor.shape;
  out.file = tensor.file;
  out.to = *to;
  decode_from(source, out);
  DIECAST_TRY(const bool is_part, splits.put_back(out, *to));
  if (!is_part) outputs[tensor.file].push_back({tensor.name, stored_dtype(*to), tensor.shape});
  plan.tensors.push_back(std::move(out));
  return {};
}

void add_copy(const TensorInfo& tensor, std::string_view reason, Plan& plan, Outputs& outputs) {
  PlannedTensor copy;
  copy.name = tensor.name;
  copy.dtype = tensor.dtype;
  copy.shape = tensor.shape;
  copy.file = tensor.file;
  copy.reason = reason;
  plan.tensors.push_back(std::move(copy));
  outputs[tensor.file].push_back({tensor.name, tensor.dtype, tensor.shape});
}

Error nothing_to_dequantize(const CheckpointHeader& header) {
  const auto other = std::ranges::find_if(
      header.tensors, [&](const TensorInfo& tensor) { return has_scales(header, tensor); });
  if (other == header.tensors.end()) {
    return {ErrorCode::invalid_argument, "no tensor of the file is quantized",
            "give a file that `diecast quantize` or another tool has quantized"};
  }
  return {ErrorCode::not_supported, cat(quote(other->name), " is quantized, ", kOtherForm),
          "give a file of these forms, with all scales that its weights need, or the model that it "
          "was made of"};
}

// Everything but the parts of the weights that are dequantized.
void add_copies(const CheckpointHeader& header, const Types& types, std::set<std::string> parts,
                Plan& plan, Outputs& outputs) {
  std::set<std::string> factors;
  for (const auto& [name, old] : types) {
    parts.insert(name);
    for (const auto part :
         {kScalePart, kScale2Part, kInputScalePart, kPackedPart, kGlobalPart, kInputGlobalPart}) {
      parts.insert(part_name(name, part));
    }
    factors.insert(part_name(name, "pre_quant_scale"));
  }
  std::vector<std::string_view> other_forms, unlisted, not_applied;
  for (const TensorInfo& tensor : header.tensors) {
    if (parts.count(tensor.name) != 0) continue;
    const bool stays = has_scales(header, tensor);
    if (stays) (is_nvfp4(header, tensor) ? unlisted : other_forms).push_back(tensor.name);
    if (factors.count(tensor.name) != 0) not_applied.push_back(tensor.name);
    add_copy(tensor, stays ? kStaysQuantized : "not quantized", plan, outputs);
  }
  note(other_forms, cat("quantized, ", kOtherForm), plan);
  note(unlisted, "quantized, but not by diecast: dequantize what is written once more", plan);
  note(not_applied, "a factor of inputs, which the weight beside it was made for and still needs",
       plan);
}

// The weights of other forms, and into `parts` what goes with those of FP8.
Result<std::map<std::string, ScaledSource>> scaled_weights(
    const CheckpointHeader& header, const ModelConfig& model,
    std::map<std::string, ScaledSource> packed, std::set<std::string>& parts) {
  DIECAST_TRY(parts, fp8_parts(header, model));
  for (const TensorInfo& tensor : header.tensors) {
    DIECAST_TRY(auto source, fp8_source(header, tensor, model));
    if (!source) {
      DIECAST_TRY(source, fp8_experts_source(header, tensor, model));
      if (source) parts.insert(source->scales);
    }
    if (source) packed.emplace(tensor.name, *source);
  }
  return packed;
}

Result<void> check_type(std::optional<DType> to) {
  if (!to || *to == DType::bf16 || *to == DType::f16 || *to == DType::f32) return {};
  return Error{ErrorCode::dtype_mismatch, cat("weights are not dequantized to ", dtype_name(*to)),
               "name bf16, f16 or f32"};
}

}  // namespace

Result<Plan> plan_dequantize(const CheckpointHeader& stored, std::optional<DType> to,
                             const ModelConfig& model, std::optional<Nvfp4Layout> layout) {
  std::map<std::string, ScaledSource> packed;
  const CheckpointHeader header = unpacked_header(stored, packed);
  DIECAST_CHECK(check_integers(header, packed, model));
  DIECAST_CHECK(check_type(to));
  if (!layout) DIECAST_CHECK(refuse_comfy(stored));
  Plan plan;
  plan.allow_nonfinite = true;
  Types types, of_mx;
  bool ours = false;
  for (const Metadata& metadata : header.metadata) {
    if (!is_ours(metadata)) continue;
    ours = true;
    if (layout) {
      return Error{ErrorCode::invalid_argument, "a layout was named, and diecast wrote the file",
                   "leave out --scale-layout and --nibbles: its metadata say what it has"};
    }
    DIECAST_TRY(Types here, types_of_metadata(metadata));
    for (auto& [name, type] : here) {
      const TensorInfo* found = header.find(name);
      const bool mx = says_mx(metadata) ||
                      (found != nullptr && found->dtype == StoredDType::f8_e4m3);  // among NVFP4
      (mx ? of_mx : types).emplace(name, type);
    }
  }
  types.merge(types_of_tensors(header));  // a type that metadata gives stays
  std::set<std::string> parts;
  DIECAST_TRY(const auto scaled, scaled_weights(header, model, std::move(packed), parts));
  if (!ours) {
    DIECAST_CHECK(refuse_misfits(stored));
    DIECAST_CHECK(refuse_unscaled(stored, model));
    DIECAST_CHECK(refuse_half_scaled(stored, model));
  }
  if (types.empty() && !ours && scaled.empty()) return nothing_to_dequantize(header);
  Outputs outputs(header.metadata.size());
  Splits splits;
  for (std::uint32_t file = 0; file < header.metadata.size(); ++file)
    if (is_ours(header.metadata[file]))
      DIECAST_CHECK(splits.read(header.metadata[file], file, types.size() + of_mx.size()));
  for (const auto& [name, old] : types) {
    DIECAST_CHECK(
        add_weight(header, name, old, to, layout.value_or(Nvfp4Layout{}), splits, plan, outputs));
  }
  for (const auto& [name, source] : scaled) {
    const auto old = of_mx.extract(name);
    const auto type = to || old.empty() ? to : old.mapped();
    DIECAST_CHECK(add_scaled(*header.find(name), source, type, splits, plan, outputs));
    parts.insert(name);
  }
  if (!of_mx.empty())
    return corrupt(
        cat("the quantized ", quote(of_mx.begin()->first), " or its scales are missing"));
  DIECAST_CHECK(splits.add_to(outputs));
  add_copies(header, types, std::move(parts), plan, outputs);
  std::ranges::sort(plan.tensors, {}, &PlannedTensor::name);
  for (std::size_t file = 0; file < outputs.size(); ++file) {
    DIECAST_TRY(SafetensorsHeader output,
                lay_out(std::move(outputs[file]), original_metadata(header.metadata[file])));
    plan.outputs.push_back(std::move(output));
  }
  return plan;
}

namespace {

// Files of other tools have these names and other layouts, and nothing in them says so.
void note_layout(const Checkpoint& checkpoint, const ModelConfig& model, Plan& plan) {
  constexpr std::string_view kKnown[] = {"modelopt", "diecast"};
  const auto& metadata = checkpoint.header().metadata;
  const auto assumed = std::ranges::find_if(plan.tensors, [&](const PlannedTensor& tensor) {
    return tensor.action == Action::dequantize && !tensor.scaled &&
           tensor.form.config == EngineConfig::modelopt && !is_ours(metadata[tensor.file]);
  });
  if (assumed == plan.tensors.end() || std::ranges::count(kKnown, model.producer) != 0) return;
  plan.notes.push_back(cat(
      "no tool is named that is known to have written ", quote(assumed->name),
      ": its block scales are read row by row, and of two codes in a byte the first has the low "
      "bits; --scale-layout and --nibbles say otherwise"));
}

}  // namespace

Result<Plan> plan_dequantize(const Checkpoint& checkpoint, std::optional<DType> to,
                             std::optional<Nvfp4Layout> layout, FileSystem& files) {
  DIECAST_TRY(const ModelConfig model, read_model_config(checkpoint, files));
  DIECAST_CHECK(check_weight_shapes(checkpoint));
  DIECAST_TRY(Plan plan, plan_dequantize(checkpoint.header(), to, model, layout));
  if (!layout) note_layout(checkpoint, model, plan);
  return plan;
}

}  // namespace diecast
