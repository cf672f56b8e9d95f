// What shares an amax is held together: one matrix of each weight of a group, of a tensor that has
// one amax for all of its matrices all of them.
#include <diecast/checkpoint/convert_cast.h>
#include <diecast/checkpoint/convert_held.h>
#include <diecast/checkpoint/convert_values.h>

#include <algorithm>

namespace diecast {

// A row too long for a piece is a matrix of its own: under a scale of its own it may be read twice
// and in stretches like one.
Matrices scaled_matrices(const PlannedTensor& tensor) {
  if (!tensor.row_scaled) return tensor.matrices;
  return {tensor.matrices.matrices * tensor.matrices.rows, 1, tensor.matrices.cols};
}

std::uint64_t piece_elements(const ConvertOptions& options, std::uint64_t width) {
  constexpr std::uint64_t kLargest = scale_block(WeightFormat::mxfp8);
  return std::max(options.piece_bytes / width / kLargest, std::uint64_t{1}) * kLargest;
}

std::uint64_t scaled_elements(const PlannedTensor& tensor) {
  const Matrices of = scaled_matrices(tensor);
  return (tensor.fused ? of.matrices : 1) * of.rows * of.cols;
}

bool in_one_pass(const PlannedTensor& tensor, const ConvertOptions& options) {
  return tensor.row_scaled && tensor.matrices.cols <= piece_elements(options, width_of(tensor));
}

std::uint64_t held_values(const Plan& plan, const std::vector<std::size_t>& group,
                          const ConvertOptions& options) {
  const PlannedTensor& first = plan.tensors[group[0]];
  if (is_mx(first.form.format) || plan.converted || is_cast(plan, group)) return 0;
  if (in_one_pass(first, options)) return 0;
  std::uint64_t bytes = 0;
  for (const std::size_t i : group) {
    const PlannedTensor& tensor = plan.tensors[i];
    if (scaled_elements(tensor) > options.held_bytes) return 0;  // and no product overflows
    bytes += scaled_elements(tensor) * width_of(tensor);
  }
  return bytes <= options.held_bytes ? bytes : 0;
}

std::uint64_t held_values(const Plan& plan, const ConvertOptions& options) {
  std::uint64_t most = 0;
  for (const auto& group : plan.groups) most = std::max(most, held_values(plan, group, options));
  return most;
}

}  // namespace diecast
