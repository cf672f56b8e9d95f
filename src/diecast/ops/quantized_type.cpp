// Which quantized types there are, and their text in messages.
#include <diecast/base/text.h>
#include <diecast/ops/quantized_type.h>

namespace diecast {

Result<void> QuantizedType::check() const {
  if (!is_known()) {
    return Error{
        ErrorCode::value_not_allowed,
        cat("format ", static_cast<int>(format), ", layout ", static_cast<int>(layout),
            ", profile ", static_cast<int>(profile), ": one of them is none that there is"),
        "give values of Format, ScaleLayout and Profile"};
  }
  const bool nvfp4 = format == Format::nvfp4;
  if (nvfp4 && e4m3_bound != 448 && e4m3_bound != 256) {
    return Error{ErrorCode::value_not_allowed, cat("e4m3_bound = ", int{e4m3_bound}),
                 "e4m3_bound = 448 or 256"};
  }
  if (nvfp4 && e4m3_bound == 256 && !takes_half_bound(profile)) {
    return Error{ErrorCode::not_supported, cat("e4m3_bound = 256 under profile ", word(profile)),
                 "e4m3_bound = 448, or profile te (four over six) or modelopt"};
  }
  if (row_scaled && (!nvfp4 || square)) {
    return Error{ErrorCode::not_supported,
                 cat("row scales for ", word(format), " in blocks of ", block_rows(), "x", block()),
                 "row_scaled = false, or nvfp4 in blocks of 1x16"};
  }
  return {};
}

std::string QuantizedType::text() const {
  return cat(word(format), " in ", block_rows(), "x", block(), " blocks, ", word(layout), " scales",
             row_scaled ? ", row-scaled" : "", ", profile ", word(profile),
             e4m3_bound == 448 ? "" : cat(", E4M3 bound ", int{e4m3_bound}));
}

}  // namespace diecast
