// The checks of a linear layer's operands.
#include <diecast/base/text.h>
#include <diecast/ops/linear/linear_operands.h>

namespace diecast {
namespace {

Error wrong_type(std::string_view op, std::string_view name, DType given, std::string_view wanted) {
  return {ErrorCode::dtype_mismatch, cat(op, ": ", name, " is ", dtype_name(given)),
          cat("give ", name, " as ", wanted)};
}

Error wrong_shape(std::string_view op, std::string_view name, const Shape& given,
                  const Shape& wanted) {
  return {ErrorCode::shape_mismatch, cat(op, ": ", name, " is ", given.text()),
          cat("give ", name, " of shape ", wanted.text())};
}

}  // namespace

Result<void> check_floats(std::string_view op, std::string_view name, const Tensor& tensor) {
  if (tensor.dtype == DType::bf16 || tensor.dtype == DType::f16 || tensor.dtype == DType::f32)
    return {};
  return wrong_type(op, name, tensor.dtype, "bf16, f16 or f32");
}

Result<void> check_tensor(std::string_view op, std::string_view name, const Tensor& tensor) {
  if (tensor.check(name)) return {};
  return tensor.check(cat(op, ": ", name));
}

Result<void> check_dense_rows(std::string_view op, std::string_view name, const Tensor& tensor) {
  if (stride_number(tensor) == 0) return {};
  return Error{ErrorCode::not_supported,
               cat(op, ": rows of ", name, " are ", tensor.row_stride, " elements apart"),
               cat("give ", name, " with dense rows")};
}

Result<void> check_ids(std::string_view op, std::string_view name, DType type) {
  if (type == DType::i32 || type == DType::i64) return {};
  return wrong_type(op, name, type, "i32 or i64");
}

Result<void> check_map(std::string_view op, const ExpertMap& map) {
  if (map.local == nullptr || map.experts >= 0) return {};
  return Error{ErrorCode::value_not_allowed, cat(op, ": the map has ", map.experts, " experts"),
               "give the number of experts that ids count"};
}

Result<void> LinearOperands::check_dense(std::string_view name, const Tensor& tensor,
                                         const Shape& wanted, DType type) const {
  if (tensor.dtype != type) return wrong_type(op, name, tensor.dtype, dtype_name(type));
  if (tensor.rows() != wanted.rows() || tensor.cols() != wanted.cols())
    return wrong_shape(op, name, tensor.shape, wanted);
  DIECAST_CHECK(check_tensor(op, name, tensor));
  return check_dense_rows(op, name, tensor);
}

Result<void> LinearOperands::check_weight(int rank) const {
  DIECAST_CHECK(weight.check(op));
  if (weight.shape.rank != rank) {
    return Error{ErrorCode::not_supported, cat(op, ": the weight is ", weight.shape.text()),
                 rank == 2 ? "give one weight, [rows, cols]"
                           : "give the experts' weights, [experts, rows, cols]"};
  }
  if ((weight.gated != Gated::none) == is_gated(activation)) return {};
  return Error{ErrorCode::invalid_argument,
               cat(op, ": activation ", word(activation),
                   " of a weight packed with gated = ", word(weight.gated)),
               is_gated(activation) ? "pack the weight with gated = halves or alternate"
                                    : "pack the weight with gated = none"};
}

Result<void> LinearOperands::check_x() const {
  if (x.dtype != DType::bf16 && x.dtype != DType::f16)
    return wrong_type(op, "x", x.dtype, "bf16 or f16");
  DIECAST_CHECK(check_tensor(op, "x", x));
  if (x.cols() != weight.cols())
    return wrong_shape(op, "x", x.shape, Shape{x.rows(), weight.cols()});
  return {};
}

Result<void> LinearOperands::check_out(const Shape& wanted) const {
  DIECAST_CHECK(check_floats(op, "out", out));
  return check_dense("out", out, wanted, out.dtype);
}

Result<void> LinearOperands::check_factor(const float* factor) const {
  if (factor != nullptr) return {};
  return Error{ErrorCode::missing_buffer, cat(op, ": factor is null"),
               "pass the weight's global scale in device memory, 1 where it has none"};
}

}  // namespace diecast
