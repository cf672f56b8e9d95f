// What the calls of linear layers have in common: what is checked of their operands, in an op's
// words.
#pragma once

#include <diecast/ops/linear/expert_map.h>
#include <diecast/ops/linear/linear.h>

#include <optional>
#include <string_view>

namespace diecast {

// Of one tensor. Its full name is made only for an error: a run allocates nothing.
// Errors: dtype_mismatch (neither bf16, f16 nor f32).
Result<void> check_floats(std::string_view op, std::string_view name, const Tensor& tensor);
// Errors: those of Tensor::check.
Result<void> check_tensor(std::string_view op, std::string_view name, const Tensor& tensor);
// Errors: not_supported (rows apart).
Result<void> check_dense_rows(std::string_view op, std::string_view name, const Tensor& tensor);
// Errors: dtype_mismatch (ids of experts that are neither i32 nor i64).
Result<void> check_ids(std::string_view op, std::string_view name, DType type);
// Errors: value_not_allowed (a map of fewer than no experts).
Result<void> check_map(std::string_view op, const ExpertMap& map);

struct LinearOperands {
  std::string_view op;
  const Tensor& x;
  const PackedLinear& weight;
  const Tensor& out;
  Activation activation;

  // Errors: those of PackedLinear::check; not_supported (a weight of another rank);
  // invalid_argument (it is not gated as the activation wants).
  Result<void> check_weight(int rank) const;
  // Errors: dtype_mismatch, shape_mismatch, those of Tensor::check.
  Result<void> check_x() const;
  // The same of out [rows, cols], and not_supported for rows apart.
  Result<void> check_out(const Shape& wanted) const;
  Result<void> check_dense(std::string_view name, const Tensor& tensor, const Shape& wanted,
                           DType type) const;
  // Errors: missing_buffer.
  Result<void> check_factor(const float* factor) const;
};

// A dense tensor that may be absent.
inline KernelArgument optional_argument(const std::optional<Tensor>& tensor, DType type) {
  return KernelArgument::tensor(type, tensor ? tensor->data : nullptr);
}

}  // namespace diecast
