// Experts of one layer in one tensor each, P.experts.gate_up_proj and P.experts.down_proj: engines
// that read NVFP4 have them expert by expert, as P.experts.7.gate_proj.weight.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/plan.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// "P.experts" of P.experts.gate_up_proj, P.experts.up_proj and P.experts.down_proj; else empty.
std::string_view fused_bank(std::string_view name);

// Whether a tensor of rank 2 or more holds matrices of 64x64 or more. Smaller ones are states,
// tables and convolutions.
bool ends_in_matrices(const TensorInfo& tensor);

// Whether a weight [outputs, inputs] lies transposed in its tensor. A gated pair [E, a, b] and
// [E, c, d] lies in rows where a = 2d and b = c, in columns where b = 2c and a = d: never both.
// A pair without a gate fits both; then the side of `hidden_size` tells. Errors: shape_mismatch (a
// pair that fits neither, or both), file_corrupt (a half without the other).
Result<bool> lies_in_columns(const CheckpointHeader& header, std::string_view bank,
                             std::optional<std::uint64_t> hidden_size);

// How experts of a tensor to quantize lie; `decoded`: their values are in codes of rows. Those that
// are not fused are put on the plan's list of tensors to split. Errors: as lies_in_columns()'s, and
// not_supported (fused ones in rows, or row-scaled).
Result<void> plan_experts(const CheckpointHeader& header, const QuantizeOptions& options,
                          bool decoded, PlannedTensor& out, Plan& plan);

// One matrix of one expert: its name as a weight, and where it lies.
struct ExpertPart {
  std::string name;
  std::uint64_t rows = 0, cols = 0;
  Placement place;
};

// All of a tensor `fused` of this shape, expert by expert.
std::vector<ExpertPart> parts_of(std::string_view fused, const std::vector<std::uint64_t>& shape,
                                 bool columns);

// Puts a weight for each expert in place of the plan's quantized tensors of `plan.split`.
void split_experts(Plan& plan);

}  // namespace diecast
