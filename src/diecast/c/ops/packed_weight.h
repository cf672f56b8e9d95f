// A packed weight as options of the C interface and diecast_packed_linear describe it.
#pragma once

#include <diecast/base/text.h>
#include <diecast/c/op.h>
#include <diecast/ops/linear/packed_linear.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace diecast::c {

// Its bytes are not looked at. Errors: value_missing, value_not_allowed.
template <class Described>
Result<PackedLinear> described(const Described& of, std::string_view op) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max();
  PackedLinear out;
  DIECAST_TRY(const std::int64_t version, read_count(of.version, kMost, op, "version"));
  out.version = static_cast<std::uint16_t>(version);
  DIECAST_TRY(const PackedFormat format, read_word<PackedFormat>(of.format, op, "format"));
  out.format = *parse_word<Format>(word(format));
  DIECAST_TRY(out.gated, read_word<Gated>(of.gated, op, "gated"));
  if (of.rows <= 0 || of.cols <= 0 || of.weights < 0) {
    return Error{ErrorCode::value_missing,
                 cat(op, ": rows = ", of.rows, ", cols = ", of.cols, " of the packed weight"),
                 "pass rows, cols, format and gated as the weight was packed"};
  }
  out.shape = of.weights == 0 ? Shape{of.rows, of.cols} : Shape{of.weights, of.rows, of.cols};
  return out;
}

// Its bytes. Errors: those of bytes_of(); shape_mismatch: more than it has, which are of another
// weight. That there are fewer, PackedLinear::check tells.
inline Result<void> place(PackedLinear& weight, const diecast_tensor* tensor,
                          const TensorName& name) {
  DIECAST_TRY(const DenseBytes bytes, bytes_of(tensor, name));
  weight.data = bytes.data;
  weight.bytes = bytes.count;
  const auto need = PackedLinear::bytes_for(weight.format, weight.shape);
  if (!need || bytes.count <= *need) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(name.text(), " has ", bytes.count, " bytes, weights of ", weight.shape.text(),
                   " in ", word(weight.format), " have ", *need),
               "pass the bytes of this weight alone, and its shape and format"};
}

// That a tensor has so many elements: more are of another weight, or of other experts. Errors:
// shape_mismatch.
inline Result<void> check_count(const diecast_tensor& tensor, std::int64_t count,
                                const TensorName& name, std::string_view fix) {
  if (elements_of(tensor) == count) return {};
  return Error{ErrorCode::shape_mismatch,
               cat(name.text(), " has ", elements_of(tensor), " elements, not ", count),
               std::string(fix)};
}

// Puts a tensor that a call may leave out. Errors: those of tensor_of().
inline Result<void> read_optional(std::optional<Tensor>& to, const diecast_tensor* tensor,
                                  const TensorName& name) {
  if (tensor == nullptr) return {};
  DIECAST_TRY(to, tensor_of(tensor, name));
  return {};
}

}  // namespace diecast::c
