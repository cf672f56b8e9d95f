// The decision, tensor by tensor, and the files that come of it.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan.h>
#include <diecast/checkpoint/plan_groups.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <diecast/checkpoint/weight_parts.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace diecast {
namespace {

constexpr std::string_view kUnnamed = "a matrix whose name does not end in .weight";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// What the components of a name say it is, if that is never quantized.
std::string_view kept_kind(std::string_view name) {
  const std::string lowered = lower(name);
  for (const std::string_view part : split(lowered, '.')) {
    const auto has = [&](std::string_view word) { return part.find(word) != part.npos; };
    if (has("norm")) return "a norm";
    if (has("embed") || part == "wte" || part == "wpe" || lowered == "shared.weight")
      return "an embedding";
    if (has("router") || part == "gate" || part == "shared_expert_gate") return "a router";
    if (part == "lm_head" || part == "shared_head" || lowered == "output.weight")
      return "the output head";
    if (part == "eh_proj") return "the input of a draft layer";
    if (has("vision_tower") || has("vision_model")) return "a vision tower";
  }
  return {};
}

// A NUL, which would end the name, is a byte that only wildcards match.
bool matches(const std::string& glob, std::string name) {
  std::replace(name.begin(), name.end(), '\0', '\1');
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

const std::string* matching(const std::vector<std::string>& globs, const std::string& name) {
  const auto found = std::find_if(globs.begin(), globs.end(),
                                  [&](const std::string& glob) { return matches(glob, name); });
  return found == globs.end() ? nullptr : &*found;
}

bool whole_blocks(const TensorInfo& tensor) { return tensor.shape.back() % kScaleBlock == 0; }

// Why a tensor is copied whose name is that of a weight, or nothing for one to quantize. Whole
// blocks are not its matter.
std::string reason_to_copy_weight(const TensorInfo& tensor, const QuantizeOptions& options) {
  if (tensor.shape.size() != 2 && tensor.shape.size() != 3)
    return cat("rank ", tensor.shape.size());
  if (!float_dtype(tensor.dtype)) return cat(stored_dtype_name(tensor.dtype), " is not quantized");
  if (const std::string* glob = matching(options.exclude, tensor.name))
    return cat("excluded by ", *glob);
  if (!options.include.empty() && !matching(options.include, tensor.name)) return "not included";
  if (const std::string_view kind = kept_kind(tensor.name); !kind.empty()) return std::string(kind);
  if (tensor.bytes() == 0) return "no elements";
  return {};
}

// Of what has not the name of a weight, all experts' in one tensor for one, some models have rows
// where others have columns.
std::string reason_to_copy(const TensorInfo& tensor, const QuantizeOptions& options) {
  constexpr std::uint64_t kLeast = 64;  // smaller ones are states and tables
  std::string reason = reason_to_copy_weight(tensor, options);
  if (tensor.name.ends_with(kWeightSuffix)) return reason;
  const bool is_weight = reason.empty() && tensor.name.find("bias") == tensor.name.npos &&
                         std::min(tensor.shape.back(), tensor.shape.end()[-2]) >= kLeast;
  return std::string(is_weight ? kUnnamed : "no weight");
}

Matrices matrices_of(const std::vector<std::uint64_t>& shape) {
  const bool experts = shape.size() == 3;
  return {experts ? shape[0] : 1, shape[shape.size() - 2], shape.back()};
}

Error refused_by_strict(const PlannedTensor& tensor) {
  return {ErrorCode::shape_mismatch, cat("tensor ", quote(tensor.name), ": ", tensor.reason),
          cat("leave it out with --exclude ", quote(glob_of(tensor.name)),
              ", or copy it without --strict")};
}

// THE decision.
Result<PlannedTensor> decide(const TensorInfo& tensor, const QuantizeOptions& options, Plan& plan) {
  PlannedTensor out;
  out.name = tensor.name;
  out.dtype = tensor.dtype;
  out.shape = tensor.shape;
  out.file = tensor.file;
  out.reason = reason_to_copy(tensor, options);
  if (out.reason == kUnnamed && options.strict) return refused_by_strict(out);
  if (!out.reason.empty()) return out;
  if (!whole_blocks(tensor)) {
    out.reason =
        cat("the last dimension ", tensor.shape.back(), " is no multiple of ", kScaleBlock);
    if (options.strict) return refused_by_strict(out);
    plan.notes.push_back(cat(quote(tensor.name), " is copied: ", out.reason));
    return out;
  }
  out.action = Action::quantize;
  out.matrices = matrices_of(tensor.shape);
  out.row_scaled = options.row_scaled;
  return out;
}

std::vector<TensorInfo> outputs_of(const PlannedTensor& tensor) {
  if (tensor.action == Action::copy) return {{tensor.name, tensor.dtype, tensor.shape}};
  std::vector<std::uint64_t> leading(tensor.shape.begin(), tensor.shape.end() - 1);
  std::vector<std::uint64_t> experts(leading.begin(), leading.end() - 1);
  std::vector<std::uint64_t> codes = leading, scales = leading;
  codes.push_back(tensor.matrices.cols / 2);
  scales.push_back(tensor.matrices.cols / kScaleBlock);
  const bool rows = tensor.row_scaled;
  return {{tensor.name, StoredDType::u8, codes},
          {part_name(tensor.name, kScalePart), StoredDType::f8_e4m3, scales},
          {part_name(tensor.name, kScale2Part), StoredDType::f32, rows ? leading : experts},
          {part_name(tensor.name, kInputScalePart), StoredDType::f32,
           rows ? std::vector<std::uint64_t>{} : experts}};
}

Result<Metadata> quantized_metadata(const Metadata& old, const Plan& plan, std::uint32_t file) {
  const auto ours = old.lower_bound("diecast.");
  if (ours != old.end() && ours->first.starts_with("diecast.")) {
    return Error{ErrorCode::invalid_argument,
                 cat("the input is quantized already: its metadata has ", quote(ours->first)),
                 "run `diecast dequantize` on it first"};
  }
  nlohmann::json dtypes = nlohmann::json::object();
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.action == Action::quantize && tensor.file == file)
      dtypes[tensor.name] = stored_dtype_name(tensor.dtype);
  }
  Metadata metadata = old;
  // transformers loads a file without metadata as PyTorch's, and none whose metadata lack this.
  metadata.emplace("format", "pt");
  metadata.emplace(kFormatKey, word(Format::nvfp4));
  metadata.emplace(kProfileKey, word(plan.scheme.profile));
  if (plan.scheme.four_over_six != FourOverSix::off)
    metadata.emplace(kFourOverSixKey, word(plan.scheme.four_over_six));
  if (plan.scheme.e4m3_bound != Nvfp4Scheme{}.e4m3_bound)
    metadata.emplace(kBoundKey, cat(plan.scheme.e4m3_bound));
  metadata.emplace(kDtypesKey,
                   dtypes.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return metadata;
}

Result<void> lay_out_plan(const CheckpointHeader& header, Plan& plan) {
  std::vector<std::vector<TensorInfo>> outputs(header.metadata.size());
  for (const PlannedTensor& tensor : plan.tensors) {
    for (TensorInfo& output : outputs_of(tensor)) {
      if (output.name != tensor.name && header.find(output.name) != nullptr) {
        return Error{ErrorCode::invalid_argument,
                     cat("quantizing ", quote(tensor.name), " writes ", quote(output.name),
                         ", but the input has a tensor of that name"),
                     cat("leave it out with --exclude ", quote(glob_of(tensor.name)))};
      }
      outputs[tensor.file].push_back(std::move(output));
    }
  }
  for (std::uint32_t file = 0; file < outputs.size(); ++file) {
    DIECAST_TRY(Metadata metadata, quantized_metadata(header.metadata[file], plan, file));
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

// A glob that matches nothing is a slip of the keyboard more often than not.
Result<void> note_idle_globs(const CheckpointHeader& header, const std::vector<std::string>& globs,
                             std::string_view option, Plan& plan) {
  for (const std::string& glob : globs) {
    const bool idle =
        std::none_of(header.tensors.begin(), header.tensors.end(),
                     [&](const TensorInfo& tensor) { return matches(glob, tensor.name); });
    if (!idle) continue;
    plan.notes.push_back(cat(option, " ", quote(glob), " matches no tensor"));
    if (plan.strict)
      return Error{ErrorCode::invalid_argument, plan.notes.back(),
                   "correct it (--dry-run lists the names), or go on without --strict"};
  }
  return {};
}

// Most of a model may be in such tensors, a few in each layer.
void note_unnamed_matrices(Plan& plan) {
  const auto is_one = [](const PlannedTensor& tensor) { return tensor.reason == kUnnamed; };
  const auto count = std::ranges::count_if(plan.tensors, is_one);
  if (count == 0) return;
  const std::string first = quote(std::ranges::find_if(plan.tensors, is_one)->name);
  plan.notes.push_back(
      count == 1 ? cat(first, " is copied: ", kUnnamed)
                 : cat(count, " tensors are copied, ", first, " the first: each is ", kUnnamed));
}

// The output says that it is quantized, and its user has a reason to think so.
Result<void> note_nothing_quantized(Plan& plan) {
  if (!plan.groups.empty()) return {};
  plan.notes.emplace_back("no tensor is quantized: all are copied");
  if (!plan.strict) return {};
  return Error{ErrorCode::invalid_argument, plan.notes.back(),
               "--dry-run says why of each; or go on without --strict"};
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

std::string glob_of(std::string_view name) {
  constexpr std::size_t kLongest = 150;  // quote() shows more
  std::string out(name.substr(0, kLongest));
  for (char& c : out) {
    const bool control = (c >= 0 && c < ' ') || c == '\x7f';
    if (control || std::string_view("*?[]\\\"$`!").find(c) != std::string_view::npos) c = '?';
  }
  if (out.size() == name.size()) return out;
  while (!out.empty() && out.back() < 0) out.pop_back();  // no part of a character
  return out + "*";
}

Result<Plan> plan_quantize(const CheckpointHeader& header, const QuantizeOptions& options) {
  Plan plan;
  plan.strict = options.strict;
  plan.scheme = options.scheme;
  DIECAST_CHECK(check_scheme(plan.scheme));
  for (const TensorInfo& tensor : header.tensors) {
    DIECAST_TRY(PlannedTensor planned, decide(tensor, options, plan));
    plan.tensors.push_back(std::move(planned));
  }
  DIECAST_CHECK(note_idle_globs(header, options.include, "--include", plan));
  DIECAST_CHECK(note_idle_globs(header, options.exclude, "--exclude", plan));
  note_unnamed_matrices(plan);
  form_groups(plan);
  DIECAST_CHECK(note_nothing_quantized(plan));
  DIECAST_CHECK(lay_out_plan(header, plan));
  return plan;
}

}  // namespace diecast
