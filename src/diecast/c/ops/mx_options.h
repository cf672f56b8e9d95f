// What the ops of the MX formats read alike.
#pragma once

#include <diecast/c/op.h>
#include <diecast/ops/quantized_type.h>

#include <string_view>

namespace diecast::c {

inline Format format_of(MxFormat format) { return *parse_word<Format>(word(format)); }

template <class Options>
Result<QuantizedType> mx_type(const Options& options, std::string_view op) {
  QuantizedType type;
  DIECAST_TRY(const MxFormat format, read_word<MxFormat>(options.format, op, "format"));
  type.format = format_of(format);
  DIECAST_TRY(type.layout, read_word<ScaleLayout>(options.layout, op, "layout"));
  type.square = options.square != 0;
  return type;
}

}  // namespace diecast::c
