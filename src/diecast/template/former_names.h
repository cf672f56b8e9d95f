// Names that built-in templates had: manifests and records outlive a rename, and an error then says
// the name of today.
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

}  // namespace diecast
