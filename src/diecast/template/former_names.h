// Names that built-in templates and their parameters had: manifests and records outlive a rename,
// and an error then says the name of today.
#pragma once

#include <string_view>
#include <utility>

namespace diecast {

// The name of today of a template that was renamed; "" for any other name.
constexpr std::string_view name_now(std::string_view former) {
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"quantize_nvfp4_row_scaled_small", "quantize_nvfp4_row_scaled_few"},
      {"quantize_nvfp4_dynamic_small", "quantize_nvfp4_amax_few"},
      {"quantize_nvfp4_once", "quantize_nvfp4_few"},
  };
  for (const auto& [then, now] : kRenamed)
    if (then == former) return now;
  return "";
}

struct RenamedParameter {
  std::string_view tmpl, then, now;
};
constexpr RenamedParameter kRenamedParameters[] = {
    {"dequantize_mx", "DIRECTION", "SIDES"},
    {"quantize_mx_tiles", "DIRECTION", "SIDES"},
    {"quantize_nvfp4_tiles", "DIRECTION", "SIDES"},
    {"gemm_nvfp4", "WIDE", "ALIGNED"},
    {"gemm_nvfp4", "COLUMNS", "COLUMNWISE_OF"},
    {"gemm_nvfp4", "A_ROWS", "A_ROW_SCALE"},
    {"gemm_nvfp4", "B_ROWS", "B_ROW_SCALE"},
    {"finish_product", "A_ROWS", "A_ROW_SCALE"},
    {"finish_product", "B_ROWS", "B_ROW_SCALE"},
    {"quantize_nvfp4_row_scaled", "SIDE", "ROWS_AT_ONCE"},
    {"quantize_nvfp4_row_scaled_few", "SIDE", "ROWS_AT_ONCE"},
    {"transpose_codes", "SIDES", "ALIGNED"},
    {"transpose_codes", "SIDE", "TILE"},
};

// The name of today of a template's parameter that was renamed; "" for any other.
constexpr std::string_view parameter_now(std::string_view tmpl, std::string_view former) {
  for (const auto& [of, then, now] : kRenamedParameters)
    if (of == tmpl && then == former) return now;
  return "";
}

}  // namespace diecast
