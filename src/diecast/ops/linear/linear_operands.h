// What the calls of linear layers have in common: what is checked of their operands, in an op's
// words.
#pragma once

#include <diecast/ops/linear/linear.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace diecast {

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

  // Tensor::check, whose name is made only for an error: a run allocates nothing.
  Result<void> check_tensor(std::string_view name, const Tensor& tensor) const;
  Error wrong_type(std::string_view name, DType given, std::string_view wanted) const;
  Error wrong_shape(std::string_view name, const Shape& given, const Shape& wanted) const;
};

// A dense tensor that may be absent.
inline KernelArgument optional_argument(const std::optional<Tensor>& tensor, DType type) {
  return KernelArgument::tensor(type, tensor ? tensor->data : nullptr);
}

}  // namespace diecast
