// Shapes and views of tensors: sizes in checked 64-bit arithmetic, because dimensions come from
// files and callers.
#include <diecast/base/text.h>
#include <diecast/ops/tensor.h>

#include <algorithm>

namespace diecast {

Shape::Shape(std::initializer_list<std::int64_t> dimensions)
    : Shape(std::span<const std::int64_t>(dimensions.begin(), dimensions.size())) {}

Shape::Shape(std::span<const std::int64_t> dimensions)
    : rank(static_cast<int>(std::min<std::size_t>(dimensions.size(), kMaxRank + 1))) {
  std::copy_n(dimensions.begin(), std::min(rank, kMaxRank), dims.begin());
}

std::int64_t Shape::leading() const {
  std::int64_t product = 1;
  for (int i = 0; i < std::min(rank, kMaxRank) - 1; ++i) {
    product = capped_product(product, dims[static_cast<std::size_t>(i)]);
  }
  return product;
}

std::string Shape::text() const {
  std::string out = "[";
  for (int i = 0; i < std::min(rank, kMaxRank); ++i) {
    out += cat(i == 0 ? "" : ", ", dims[static_cast<std::size_t>(i)]);
  }
  return out + (rank > kMaxRank ? ", ...]" : "]");
}

Result<std::int64_t> Shape::elements() const {
  if (rank < 0 || rank > kMaxRank) {
    return Error{ErrorCode::shape_mismatch,
                 cat("shape ", text(), " has more than ", kMaxRank, " dimensions"),
                 cat("flatten leading dimensions until at most ", kMaxRank, " are left")};
  }
  std::int64_t product = 1;
  bool empty = false;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = dims[static_cast<std::size_t>(i)];
    if (size < 0) {
      return Error{ErrorCode::shape_mismatch,
                   cat("dimension ", i, " of shape ", text(), " is negative"),
                   "every dimension is 0 or more"};
    }
    if (size == 0) empty = true;
    const auto next = checked_product(product, std::max<std::int64_t>(size, 1));
    if (!next) {
      return Error{ErrorCode::shape_mismatch,
                   cat("shape ", text(), " has more elements than fit in 63 bits"),
                   "split the tensor into smaller ones"};
    }
    product = *next;
  }
  return empty ? 0 : product;
}

namespace {

// Bytes from the first element to the end of the last row, or none beyond 63 bits.
std::optional<std::int64_t> spanned_bytes(const Tensor& tensor, std::int64_t element_bytes) {
  const auto before_last = checked_product(tensor.rows() - 1, tensor.stride());
  std::int64_t span = 0;
  if (!before_last || __builtin_add_overflow(*before_last, tensor.cols(), &span)) {
    return std::nullopt;
  }
  return checked_product(span, element_bytes);
}

// "gemm_nvfp4: out" is `out` to its caller.
std::string_view operand_of(std::string_view name) {
  const std::size_t colon = name.rfind(": ");
  return colon == name.npos ? name : name.substr(colon + 2);
}

}  // namespace

Result<void> Tensor::check_any(std::string_view name) const {
  if (dtype_bits(dtype) == 0) {
    return Error{ErrorCode::dtype_mismatch,
                 cat(name, " has no known type (", static_cast<int>(dtype), ")"),
                 cat("set dtype to one of ", join(dtype_names(), ", "))};
  }
  const auto elements = shape.elements();
  if (!elements) {
    Error error = elements.error();
    error.what = cat(name, ": ", error.what);
    return error;
  }
  if (stride() < cols()) {
    return Error{
        ErrorCode::shape_mismatch,
        cat(name, ": row_stride ", row_stride, " is smaller than a row of ", cols(), " elements"),
        cat("row_stride = 0 for a dense tensor, else at least ", cols())};
  }
  if (*elements == 0) return {};
  const std::int64_t element_bytes = dtype_bits(dtype) / 8;
  if (!spanned_bytes(*this, element_bytes)) {
    return Error{ErrorCode::shape_mismatch,
                 cat(name, ": ", shape.text(), " ", dtype_name(dtype), " with row_stride ",
                     stride(), " spans more bytes than fit in 63 bits"),
                 "row_stride counts elements from one row to the next"};
  }
  if (data == nullptr) {
    return Error{
        ErrorCode::missing_buffer,
        cat(name, ": the address of a ", shape.text(), " ", dtype_name(dtype), " tensor is null"),
        cat("pass the address of the first element of ", operand_of(name))};
  }
  const auto past =
      reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_bytes);
  if (past != 0) {
    return Error{ErrorCode::misaligned,
                 cat(name, ": the address lies ", past, " past a multiple of ", element_bytes,
                     ", the bytes of one ", dtype_name(dtype)),
                 cat("align ", operand_of(name), " to ", element_bytes, " bytes")};
  }
  return {};
}

Result<void> Tensor::check_rows_known(std::string_view name) const {
  if (device_rows == nullptr) return {};
  return Error{ErrorCode::not_supported, cat(name, " has a row count in device memory"),
               "leave device_rows null: every row is taken"};
}

Error shapes_differ(std::string_view op, std::string_view name, const Shape& x, const Shape& out) {
  return {ErrorCode::shape_mismatch, cat(op, ": ", name, " is ", x.text(), ", out is ", out.text()),
          cat("describe out with shape ", x.text())};
}

}  // namespace diecast
