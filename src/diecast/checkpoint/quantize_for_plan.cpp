// The same parts as plan_quantize()'s, but for the decision, which is the config's.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan_groups.h>
#include <diecast/checkpoint/quantize_for_plan.h>
#include <diecast/checkpoint/safetensors_writer.h>
#include <diecast/checkpoint/select/families.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/verify/said_config.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace diecast {
namespace {

constexpr std::string_view kWhat = "quantize_for";

bool is_float(DType type) {
  return type == DType::bf16 || type == DType::f16 || type == DType::f32;
}

// A header of those that may be quantized.
Result<CheckpointHeader> header_of(std::span<const NewWeight> weights) {
  std::vector<TensorInfo> tensors;
  for (const NewWeight& weight : weights) {
    DIECAST_CHECK(weight.shape.elements());
    if (!is_float(weight.dtype)) continue;
    const auto dims =
        std::span(weight.shape.dims).first(static_cast<std::size_t>(weight.shape.rank));
    tensors.push_back({weight.name, stored_dtype(weight.dtype), {dims.begin(), dims.end()}});
  }
  DIECAST_TRY(SafetensorsHeader header, lay_out(std::move(tensors), {}));
  return CheckpointHeader(std::move(header));
}

// The form of a tensor's matrices; none: they stay as they are.
std::optional<StoredForm> form_of(const SaidConfig& said, const TensorInfo& tensor) {
  const std::string_view name = tensor.name;
  if (tensor.shape.size() < 2) return std::nullopt;
  if (name.ends_with(kWeightSuffix))
    return said.form_of(std::string(name.substr(0, name.size() - kWeightSuffix.size())));
  const std::string_view bank = tensor.shape.size() == 3 ? fused_bank(name) : std::string_view();
  return bank.empty() ? std::nullopt : said.form_of(std::string(bank));
}

Result<void> add(const CheckpointHeader& header, const TensorInfo& tensor, const StoredForm& form,
                 const QuantizeOptions& options, Plan& plan) {
  PlannedTensor out;
  out.name = tensor.name;
  out.dtype = tensor.dtype;
  out.shape = tensor.shape;
  out.action = Action::quantize;
  out.form = form;
  if (tensor.name.ends_with(kWeightSuffix) && tensor.shape.size() != 2) {
    return Error{ErrorCode::not_supported,
                 cat(kWhat, ": ", quote(tensor.name), " ", shape_text(tensor.shape),
                     " is no matrix, and the config does not leave it out"),
                 "give matrices one by one, under the names that the folder has"};
  }
  out.matrices = matrices_of(out.shape);
  if (tensor.shape.size() == 3) DIECAST_CHECK(plan_experts(header, options, false, out, plan));
  if (out.matrices.cols == 0 || out.matrices.cols % scale_block(form.format) != 0) {
    return Error{ErrorCode::shape_mismatch,
                 cat(kWhat, ": ", quote(tensor.name), " has rows of ", out.matrices.cols,
                     ", no whole blocks of ", scale_block(form.format)),
                 "give shards whose rows are whole blocks, or a config that leaves it out"};
  }
  plan.tensors.push_back(std::move(out));
  return {};
}

// Experts that lie transposed are gathered by no kernel.
Result<void> refuse_columns(const Plan& plan) {
  for (const SplitTensor& tensor : plan.split) {
    if (!tensor.columns) continue;
    return Error{ErrorCode::not_supported,
                 cat(kWhat, ": the experts of ", quote(tensor.name), " lie transposed"),
                 "give each expert's matrix [outputs, inputs] as a weight of its own"};
  }
  return {};
}

// Every member of what shares a scale is there, or its amax is given for all that are.
Result<void> check_families(const CheckpointHeader& header, const Plan& plan,
                            const std::set<std::string>& given, bool whole) {
  for (const std::vector<std::size_t>& group : plan.groups) {
    const std::string& first = plan.tensors[group[0]].name;
    const Membership of = membership(header, first);
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        group, [&](std::size_t i) { return given.contains(plan.tensors[i].stored_in()); }));
    if (count == group.size() || is_mx(plan.tensors[group[0]].form.format)) continue;
    if (count != 0) {
      return Error{ErrorCode::invalid_argument,
                   cat(kWhat, ": the amax of ", quote(first),
                       " or of what shares its scale is "
                       "given, and not that of all of them"),
                   "give all of them the amax of the family, or none"};
    }
    if (of.family == nullptr || whole) continue;
    for (const std::string_view role : of.family->roles()) {
      const std::string name = cat(of.module, role, kWeightSuffix);
      if (std::ranges::binary_search(plan.tensors, name, {}, &PlannedTensor::name)) continue;
      return Error{ErrorCode::invalid_argument,
                   cat(kWhat, ": ", quote(first), " shares its scale with ", quote(name),
                       ", which is not there"),
                   "give both in one call, or the amax of both, or say that the model has no such "
                   "weight (whole_families)"};
    }
  }
  return {};
}

}  // namespace

Result<Plan> plan_quantize_for(std::string_view config, std::span<const NewWeight> weights,
                               const QuantizeForOptions& options) {
  DIECAST_TRY(const std::optional<SaidConfig> said, said_by_model_config(config));
  if (!said) {
    return Error{ErrorCode::not_supported,
                 cat(kWhat, ": the config says nothing of a quantization"),
                 "give the text of the quantized folder's config.json"};
  }
  if (said->form.config == EngineConfig::gpt_oss) {
    return Error{ErrorCode::not_supported,
                 cat(kWhat, ": the config says gpt-oss's MXFP4, whose experts lie in one tensor"),
                 "quantize the folder again, or give a config in another form"};
  }
  if (!said->fp8_layouts().empty()) {
    return Error{ErrorCode::not_supported,
                 cat(kWhat, ": the config says that some weights are FP8"),
                 "quantize the folder again without --keep-fp8"};
  }
  DIECAST_TRY(const CheckpointHeader header, header_of(weights));
  QuantizeOptions experts;
  experts.model = parse_model_config(config);
  Plan plan;
  plan.scheme = options.scheme;
  plan.form = said->form;
  for (const TensorInfo& tensor : header.tensors) {
    if (const std::optional<StoredForm> form = form_of(*said, tensor))
      DIECAST_CHECK(add(header, tensor, *form, experts, plan));
  }
  DIECAST_CHECK(refuse_columns(plan));
  split_experts(plan);
  form_groups(header, plan);
  std::set<std::string> given;
  for (const NewWeight& weight : weights)
    if (weight.amax_given) given.insert(weight.name);
  for (const SplitTensor& tensor : plan.split) {
    if (!given.contains(tensor.name)) continue;
    return Error{ErrorCode::not_supported,
                 cat(kWhat, ": one amax for all experts of ", quote(tensor.name)),
                 "give each expert's matrix as a weight of its own, with its amax"};
  }
  DIECAST_CHECK(check_families(header, plan, given, options.whole_families));
  return plan;
}

}  // namespace diecast
