// Structure, names, shapes and globs, in this order of strength: --exclude, --include, --keep, the
// language model's layers, the keep list.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/decide.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/fp8_source.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/globs.h>
#include <diecast/checkpoint/select/keep_list.h>
#include <diecast/checkpoint/select/kept_fp8.h>
#include <diecast/checkpoint/select/language_model.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/select/recipe.h>
#include <diecast/checkpoint/select/stored_forms.h>
#include <diecast/checkpoint/select/transposed.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace diecast {
namespace {

constexpr std::string_view kUnnamed = "a matrix whose name does not end in .weight";
constexpr std::string_view kStacked = "experts in one tensor, which engines read one by one";
constexpr std::string_view kBiased = "of experts with biases, which no engine reads one by one";
constexpr std::string_view kNoExpert = "no expert, which alone gpt-oss has in MXFP4";
constexpr std::string_view kConv1D = "stored transposed, as Conv1D does";

class Decision {
 public:
  Decision(const CheckpointHeader& header, const QuantizeOptions& options, LanguageModel model,
           std::map<std::string, ScaledSource> packed, Plan& plan)
      : header_(header),
        options_(options),
        model_(std::move(model)),
        plan_(plan),
        exclude_(header, options.exclude),
        include_(header, options.include),
        keep_(header, options.keep),
        mxfp8_(header, options.mxfp8),
        transposed_(header, model_, options.model),
        sources_(std::move(packed)) {}

  Result<void> run() {
    DIECAST_TRY(const std::set<std::string> parts, fp8_parts(header_, options_.model));
    plan_.scope = model_.scope();
    for (const TensorInfo& tensor : header_.tensors) {
      DIECAST_TRY(auto source, fp8_source(header_, tensor, options_.model));
      if (source) sources_.emplace(tensor.name, std::move(*source));
    }
    for (const TensorInfo& tensor : header_.tensors)
      if (!parts.contains(tensor.name)) DIECAST_CHECK(add(tensor));
    if (!plan_.converted) DIECAST_CHECK(keep_units_whole());
    DIECAST_CHECK(note_globs());
    note_refused();
    note_biased();
    split_experts(plan_);
    return read_sources();
  }

 private:
  std::string reason_of_weight(const TensorInfo& tensor, const std::string& unit) const;
  std::string reason_of(const TensorInfo& tensor, const std::string& unit) const;
  Result<void> add(const TensorInfo& tensor);
  Result<void> keep_units_whole();
  Result<void> note_globs();
  void note_refused();
  void note_biased();
  bool stay_fused(const TensorInfo& tensor) const;
  Result<void> read_sources();

  const CheckpointHeader& header_;
  const QuantizeOptions& options_;
  const LanguageModel model_;
  Plan& plan_;
  const GlobHits exclude_, include_, keep_, mxfp8_;
  const TransposedWeights transposed_;
  std::map<std::string, ScaledSource> sources_;              // of weights in other forms, by name
  std::map<std::string, std::vector<std::size_t>> units_;    // weights of rank 2 and more
  std::map<std::string, std::vector<std::size_t>> refused_;  // by reason: what a user should know
};

bool has_bias(const CheckpointHeader& header, std::string_view experts) {
  return header.find(cat(experts, "_bias")) != nullptr;
}

// Why a tensor is copied whose name is that of a weight, or nothing for one to quantize. Whole
// blocks are not its matter.
std::string Decision::reason_of_weight(const TensorInfo& tensor, const std::string& unit) const {
  if (tensor.shape.size() != 2 && tensor.shape.size() != 3)
    return cat("rank ", tensor.shape.size());
  if (!float_dtype(tensor.dtype) && !sources_.contains(tensor.name))
    return cat(stored_dtype_name(tensor.dtype), " is not quantized");
  if (plan_.form.config == EngineConfig::gpt_oss && fused_bank(tensor.name).empty())
    return std::string(kNoExpert);
  if (const std::string* glob = exclude_.find(unit)) return cat("excluded by ", *glob);
  if (tensor.bytes() == 0) return "no elements";
  if (plan_.converted) {
    const auto source = sources_.find(tensor.name);
    const bool nvfp4 = source != sources_.end() && source->second.kind == CodeForm::nvfp4;
    return nvfp4 ? "" : "not NVFP4 before";
  }
  if (include_.find(unit) != nullptr) return {};
  if (const std::string* glob = keep_.find(unit)) return cat("kept by ", *glob);
  if (const std::string_view where = model_.outside(tensor.name); !where.empty())
    return std::string(where);
  if (model_.is_at_an_end(tensor.name, options_.first_layers, options_.last_layers))
    return "one of the first or last layers";
  if (!in_recipe(tensor.name, options_.recipe)) return "not in the recipe";
  if (const std::string_view kind = kept_kind(layer_part(tensor.name)->inside); !kind.empty())
    return std::string(kind);
  if (transposed_.has(tensor)) return std::string(kConv1D);
  if (tensor.shape.size() == 2 || !tensor.name.ends_with(kWeightSuffix)) return {};
  return holds_experts(tensor.name) || ends_in_matrices(tensor) ? std::string(kStacked) : "rank 3";
}

std::string Decision::reason_of(const TensorInfo& tensor, const std::string& unit) const {
  std::string reason = reason_of_weight(tensor, unit);
  if (tensor.name.ends_with(kWeightSuffix)) return reason;
  if (tensor.shape.size() == 3 && !fused_bank(tensor.name).empty()) {
    const bool biased = has_bias(header_, tensor.name) && !stay_fused(tensor);
    return reason.empty() && biased ? std::string(kBiased) : reason;
  }
  const bool bias = tensor.name.find("bias") != tensor.name.npos;
  const bool is_weight = reason.empty() && !bias && ends_in_matrices(tensor);
  return std::string(is_weight ? kUnnamed : "no weight");
}

// Those of gpt-oss have biases, which no engine reads beside experts one by one.
bool Decision::stay_fused(const TensorInfo& tensor) const {
  return options_.experts == ExpertForm::fused || sources_.contains(tensor.name) ||
         plan_.form.config == EngineConfig::gpt_oss;
}

Error refused_by_strict(const PlannedTensor& tensor) {
  return {ErrorCode::shape_mismatch, cat("tensor ", quote(tensor.name), ": ", tensor.reason),
          cat("leave it out with --exclude ", quote(glob_of(tensor.name)),
              ", or copy it without --strict")};
}

Result<void> Decision::add(const TensorInfo& tensor) {
  const std::string unit = unit_of(header_, tensor.name);
  PlannedTensor out;
  out.name = tensor.name;
  out.dtype = tensor.dtype;
  out.shape = tensor.shape;
  out.file = tensor.file;
  out.form = plan_.form;
  if (mxfp8_.find(unit) != nullptr) out.form.format = WeightFormat::mxfp8;
  out.reason = reason_of(tensor, unit);
  bool refused = out.reason == kUnnamed || out.reason == kStacked || out.reason == kBiased;
  const bool experts = out.reason.empty() && !tensor.name.ends_with(kWeightSuffix);
  out.fused = experts && stay_fused(tensor);
  if (experts)
    DIECAST_CHECK(plan_experts(header_, options_, sources_.contains(tensor.name), out, plan_));
  else if (out.reason.empty())
    out.matrices = matrices_of(tensor.shape);
  const std::uint64_t inputs = out.matrices.cols, block = scale_block(out.form.format);
  if (out.reason.empty() && inputs % block != 0) {
    out.reason = cat(experts ? "the inputs, " : "the last dimension ", inputs,
                     experts ? ", are" : " is", " no multiple of ", block);
    refused = true;
  }
  if (refused && options_.strict) return refused_by_strict(out);
  if (refused) refused_[out.reason].push_back(plan_.tensors.size());
  if (out.reason.empty()) {
    out.action = Action::quantize;
    out.row_scaled = options_.row_scaled;
  }
  // What is never quantized by its name is no part of what is quantized as a whole.
  const bool kept =
      layer_part(tensor.name) && out.reason == kept_kind(layer_part(tensor.name)->inside);
  if (tensor.shape.size() > 1 &&
      (tensor.name.ends_with(kWeightSuffix) || !fused_bank(tensor.name).empty()) &&
      (out.reason.empty() || !kept))
    units_[unit].push_back(plan_.tensors.size());
  plan_.tensors.push_back(std::move(out));
  return {};
}

// Engines read all of a unit in one way.
Result<void> Decision::keep_units_whole() {
  std::map<std::string, std::pair<std::string, std::size_t>> broken;  // by reason: the first, count
  for (const auto& [unit, members] : units_) {
    const auto copied = [&](std::size_t i) { return plan_.tensors[i].action == Action::copy; };
    const auto why = std::ranges::find_if(members, copied);
    if (why == members.end() || std::ranges::all_of(members, copied)) continue;
    const PlannedTensor& odd = plan_.tensors[*why];
    const auto first = std::ranges::find_if_not(members, copied);
    const std::string what = cat(quote(plan_.tensors[*first].name), " belongs to ", quote(odd.name),
                                 ", which is not quantized: ", odd.reason);
    if (include_.find(unit) != nullptr) {
      if (options_.force) continue;
      return Error{ErrorCode::shape_mismatch, what,
                   "leave both out, or have one without the other with --force, which engines do "
                   "not load"};
    }
    for (const std::size_t i : members) {
      if (copied(i)) continue;
      plan_.tensors[i].action = Action::copy;
      plan_.tensors[i].reason = cat("belongs to ", odd.name, ": ", odd.reason);
    }
    auto& same = broken[odd.reason];
    if (same.second++ == 0) same.first = what;
  }
  for (const auto& [reason, seen] : broken) {
    plan_.notes.push_back(
        cat(seen.first, "; the module that engines make of them is copied",
            seen.second == 1 ? "" : cat(", and so in ", seen.second - 1, " more modules")));
  }
  return {};
}

// A glob that matches nothing is a slip of the keyboard more often than not.
Result<void> Decision::note_globs() {
  const std::pair<const GlobHits*, std::string_view> lists[] = {
      {&include_, "--include"}, {&exclude_, "--exclude"}, {&keep_, "--keep"}, {&mxfp8_, "--mxfp8"}};
  for (const auto& [hits, option] : lists) {
    for (const std::string& idle : hits->idle(option)) {
      plan_.notes.push_back(idle);
      if (options_.strict)
        return Error{ErrorCode::invalid_argument, idle,
                     "correct it (--dry-run lists the names), or go on without --strict"};
    }
    if (std::string spread = hits->spread(option); !spread.empty())
      plan_.notes.push_back(std::move(spread));
  }
  return {};
}

// Most of a model may be in such tensors, a few in each layer.
void Decision::note_refused() {
  for (const auto& [why, tensors] : refused_) {
    const std::string first = quote(plan_.tensors[tensors[0]].name);
    plan_.notes.push_back(tensors.size() == 1 ? cat(first, " is copied: ", why)
                                              : cat(tensors.size(), " tensors are copied, ", first,
                                                    " the first: ", why));
  }
}

// They are what ModelOpt writes, and more than engines read today.
void Decision::note_biased() {
  const auto biased = [&](const PlannedTensor& tensor) {
    return tensor.fused && tensor.action == Action::quantize && !is_mx(tensor.form.format) &&
           has_bias(header_, tensor.name);
  };
  const auto first = std::ranges::find_if(plan_.tensors, biased);
  if (first == plan_.tensors.end()) return;
  plan_.notes.push_back(cat("vLLM 0.32 and SGLang read no NVFP4 of experts with biases, as ",
                            quote(first->name), " are"));
}

Result<void> Decision::read_sources() {
  std::size_t kept = 0;
  for (PlannedTensor& tensor : plan_.tensors) {
    const auto source = sources_.find(tensor.name);
    if (source == sources_.end()) continue;
    tensor.scaled = source->second;
    const bool laid_out = options_.layout && source->second.kind == CodeForm::nvfp4;
    if (laid_out) tensor.layout = *options_.layout;
    if (tensor.action == Action::quantize) continue;
    if (options_.keep_fp8 && source->second.kind == CodeForm::fp8 &&
        may_stay_fp8(model_, tensor.name)) {
      DIECAST_TRY(tensor.fp8, kept_fp8_form(header_, *header_.find(tensor.name), source->second));
      tensor.reason = cat("stays FP8: ", tensor.reason);
      continue;
    }
    decode_from(source->second, tensor);
    if (laid_out) tensor.scaled.reset(), tensor.form = {};  // read as ModelOpt's, by its layout
    ++kept;
  }
  if (kept > 0)
    plan_.notes.push_back(
        cat("weights of the quantized model that are not quantized again become BF16: ", kept));
  if (std::string note = note_of_kept_fp8(plan_); !note.empty())
    plan_.notes.push_back(std::move(note));
  return {};
}

}  // namespace

Result<void> decide(const CheckpointHeader& header, const QuantizeOptions& options, Plan& plan) {
  DIECAST_CHECK(refuse_quantized(header, options));
  std::map<std::string, ScaledSource> packed;
  const std::optional<Nvfp4Conversion> conversion = conversion_of(header, options);
  plan.converted = conversion.has_value();
  const CheckpointHeader logical = unpacked_header(header, packed, conversion);
  DIECAST_CHECK(check_integers(logical, packed, options.model));
  DIECAST_TRY(LanguageModel model,
              LanguageModel::find(logical, options.model,
                                  options.include.empty() && !options.force && !plan.converted));
  return Decision(logical, options, std::move(model), std::move(packed), plan).run();
}

}  // namespace diecast
