// Sizes and checks of weights and packed weights.
#include <diecast/base/text.h>
#include <diecast/ops/linear/packed_linear.h>

namespace diecast {
namespace {

// A weight's format and shape.
Result<void> check_kind(std::string_view op, Format format, const Shape& shape) {
  if (!is_four_bit(format) || !is_value(format)) {
    return Error{ErrorCode::not_supported,
                 cat(op, ": the weight's format is ",
                     is_value(format) ? word(format) : std::string_view("none that there is")),
                 "give a weight of nvfp4 or mxfp4"};
  }
  if (const auto elements = shape.elements(); !elements)
    return Error{elements.error().code, cat(op, ": the weight's ", elements.error().what),
                 "make smaller weights"};
  if (shape.rank != 2 && shape.rank != 3) {
    return Error{ErrorCode::shape_mismatch, cat(op, ": the weight's shape is ", shape.text()),
                 "give [rows, cols], or [weights, rows, cols]"};
  }
  if (shape.cols() % block_of(format) != 0) {
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": a row of the weight has ", shape.cols(), " columns"),
                 cat("pad rows with zeros to whole blocks of ", block_of(format))};
  }
  return {};
}

Result<void> check_address(std::string_view op, std::string_view name, const void* data,
                           std::uintptr_t align) {
  if (data == nullptr)
    return Error{ErrorCode::missing_buffer, cat(op, ": ", name, " is null"), cat("pass ", name)};
  if (reinterpret_cast<std::uintptr_t>(data) % align == 0) return {};
  return Error{ErrorCode::misaligned, cat(op, ": ", name, " is no multiple of ", align, " bytes"),
               cat("place ", name, " at a multiple of ", align, " bytes")};
}

}  // namespace

Result<void> LinearWeight::check(std::string_view op) const {
  DIECAST_CHECK(check_kind(op, format, shape));
  if (shape.rows() == 0 || shape.cols() == 0) return {};
  DIECAST_CHECK(check_address(op, "codes", codes, 8));
  DIECAST_CHECK(check_address(op, "scales", scales, 1));
  if (!is_apart()) return {};
  DIECAST_CHECK(check_address(op, "up_codes", up_codes, 8));
  return check_address(op, "up_scales", up_scales, 1);
}

Result<std::int64_t> PackedLinear::bytes_for(Format format, const Shape& shape) {
  DIECAST_CHECK(check_kind("PackedLinear::bytes_for", format, shape));
  const PackedLinear packed{.format = format, .shape = shape};
  const std::int64_t tile = kSide * kSide / 2 + kSide * kSide / block_of(format);
  const auto tiles =
      checked_product(ceil_div(packed.rows(), kSide), ceil_div(packed.cols(), kSide));
  const auto all = tiles ? checked_product(*tiles, packed.weights()) : std::nullopt;
  const auto bytes = all ? checked_product(*all, tile) : std::nullopt;
  if (bytes) return *bytes;
  return Error{ErrorCode::shape_mismatch,
               cat("packed weights of ", shape.text(), " need more bytes than fit in 63 bits"),
               "make smaller weights"};
}

Result<void> PackedLinear::check(std::string_view op) const {
  if (version != kVersion) {
    return Error{ErrorCode::not_supported,
                 cat(op, ": the weight was packed in version ", version, " of the layout, this is ",
                     int{kVersion}),
                 "pack it again from the checkpoint"};
  }
  DIECAST_CHECK(check_kind(op, format, shape));
  if (!is_value(gated)) {
    return Error{ErrorCode::value_not_allowed, cat(op, ": gated is none that there is"),
                 "give a value of Gated"};
  }
  if (gated != Gated::none && rows() % 16 != 0) {
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": a weight of gate and up has ", rows(), " rows"),
                 "pad gate and up each to a multiple of 8 rows"};
  }
  DIECAST_TRY(const std::int64_t need, bytes_for(format, shape));
  if (bytes < need) {
    return Error{
        ErrorCode::shape_mismatch,
        cat(op, ": packed has ", bytes, " bytes, weights of ", shape.text(), " need ", need),
        cat("pass ", need, " bytes (PackedLinear::bytes_for)")};
  }
  return need == 0 ? Result<void>{} : check_address(op, "packed", data, 16);
}

}  // namespace diecast
