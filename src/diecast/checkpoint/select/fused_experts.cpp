// Shapes and places; see fused_experts.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/packed_source.h>

#include <algorithm>
#include <array>
#include <utility>

namespace diecast {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {".gate_up_proj", ".up_proj", ".down_proj"};

const TensorInfo* part(const CheckpointHeader& header, std::string_view bank,
                       std::string_view role) {
  const TensorInfo* found = header.find(cat(bank, role));
  return found != nullptr && found->shape.size() == 3 ? found : nullptr;
}

Error without_half(std::string_view bank, bool has_down) {
  return {ErrorCode::file_corrupt,
          cat("experts ", quote(bank), " have ",
              has_down ? "a down_proj without gate_up_proj or up_proj"
                       : "no down_proj that goes with the rest"),
          cat("write or download the checkpoint again, or leave them out with --exclude ",
              quote(glob_of(cat(bank, ".")) + "*"))};
}

}  // namespace

std::string_view fused_bank(std::string_view name) {
  for (const std::string_view role : kRoles) {
    if (!name.ends_with(role)) continue;
    const std::string_view bank = name.substr(0, name.size() - role.size());
    if (bank.ends_with(".experts")) return bank;
  }
  return {};
}

bool ends_in_matrices(const TensorInfo& tensor) {
  constexpr std::uint64_t kLeast = 64;
  return std::min(tensor.shape.back(), tensor.shape.end()[-2]) >= kLeast;
}

Result<bool> lies_in_columns(const CheckpointHeader& header, std::string_view bank,
                             std::optional<std::uint64_t> hidden_size) {
  const TensorInfo* gated = part(header, bank, ".gate_up_proj");
  const TensorInfo* up = gated != nullptr ? gated : part(header, bank, ".up_proj");
  const TensorInfo* down = part(header, bank, ".down_proj");
  if (up == nullptr || down == nullptr) return without_half(bank, down != nullptr);
  const std::uint64_t a = up->shape[1], b = up->shape[2], c = down->shape[1], d = down->shape[2];
  const std::uint64_t halves = gated != nullptr ? 2 : 1;
  const bool one_bank = up->shape[0] == down->shape[0] && up->dtype == down->dtype;
  const bool rows = one_bank && a % halves == 0 && a / halves == d && b == c;
  const bool columns = one_bank && b % halves == 0 && b / halves == c && a == d;
  if (rows != columns) return columns;
  if (rows && a != b && hidden_size && (b == *hidden_size || a == *hidden_size))
    return a == *hidden_size;
  return Error{ErrorCode::shape_mismatch,
               cat(quote(up->name), " ", shape_text(up->shape), " and ", quote(down->name), " ",
                   shape_text(down->shape),
                   rows ? " may lie in rows or in columns" : " do not fit together"),
               cat(rows && !hidden_size ? "give a config.json that says its hidden_size, or " : "",
                   "leave them out with --exclude ", quote(glob_of(cat(bank, ".")) + "*"))};
}

Result<void> plan_experts(const CheckpointHeader& header, const QuantizeOptions& options,
                          bool decoded, PlannedTensor& out, Plan& plan) {
  DIECAST_TRY(const bool columns,
              lies_in_columns(header, fused_bank(out.name), options.model.hidden_size));
  out.matrices = matrices_of(out.shape, columns);
  if (!out.fused) {
    plan.split.push_back({out.name, out.shape, columns, out.file});
    return {};
  }
  const bool cast_alone = is_mx(out.form.format) && out.form.config != EngineConfig::gpt_oss;
  if (!columns || options.row_scaled || cast_alone) {
    return Error{
        ErrorCode::not_supported,
        cat(quote(out.name), !columns ? " has experts in rows, which no tool keeps in one tensor"
                             : options.row_scaled
                                 ? " cannot have a global scale a row in one tensor of NVFP4"
                                 : " is cast to NVFP4 alone"),
        !columns             ? "leave out --experts fused: they are split"
        : options.row_scaled ? "leave out --row-scale"
                             : "take --format nvfp4"};
  }
  if (!decoded) out.place = in_columns(out.name, out.matrices);
  return {};
}

std::vector<ExpertPart> parts_of(std::string_view fused, const std::vector<std::uint64_t>& shape,
                                 bool columns) {
  const std::string_view bank = fused_bank(fused);
  const bool gated = fused.ends_with(".gate_up_proj");
  const std::string_view lone = fused.substr(bank.size() + 1);
  const std::uint64_t stored = shape[1] * shape[2];
  const std::uint64_t outputs = (columns ? shape[2] : shape[1]) / (gated ? 2 : 1);
  const std::uint64_t inputs = columns ? shape[1] : shape[2];
  const std::uint64_t row_step = columns ? 1 : shape[2], col_step = columns ? shape[2] : 1;
  std::vector<ExpertPart> out;
  for (std::uint64_t e = 0; e < shape[0]; ++e) {
    for (std::uint64_t half = 0; half < (gated ? 2u : 1u); ++half) {
      const std::string_view role = !gated ? lone : half == 0 ? "gate_proj" : "up_proj";
      out.push_back(
          {cat(bank, ".", e, ".", role, kWeightSuffix),
           outputs,
           inputs,
           {std::string(fused), e * stored + half * outputs * row_step, row_step, col_step}});
    }
  }
  return out;
}

void split_experts(Plan& plan) {
  std::vector<PlannedTensor> all;
  std::vector<SplitTensor> split;
  for (PlannedTensor& tensor : plan.tensors) {
    const auto found = std::ranges::find(plan.split, tensor.name, &SplitTensor::name);
    if (found == plan.split.end() || tensor.action == Action::copy) {
      all.push_back(std::move(tensor));
      continue;
    }
    for (ExpertPart& part : parts_of(found->name, found->shape, found->columns)) {
      PlannedTensor one = tensor;
      one.name = std::move(part.name);
      one.shape = {part.rows, part.cols};
      one.matrices = {1, part.rows, part.cols};
      one.place = std::move(part.place);
      all.push_back(std::move(one));
    }
    split.push_back(std::move(*found));
  }
  std::ranges::sort(all, {}, &PlannedTensor::name);
  plan.tensors = std::move(all);
  plan.split = std::move(split);
}

}  // namespace diecast
