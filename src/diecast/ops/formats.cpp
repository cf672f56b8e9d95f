// The words of formats, layouts and profiles, and what follows from one of them alone.
#include <diecast/base/text.h>
#include <diecast/ops/quantized_tensor.h>

namespace diecast {

std::string_view format_name(Format format) {
  constexpr std::string_view names[] = {"nvfp4", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"};
  return name_of(format, names);
}

std::string_view layout_name(ScaleLayout layout) {
  constexpr std::string_view names[] = {"linear", "s128x4", "s8x4"};
  return name_of(layout, names);
}

std::string_view profile_name(Profile profile) {
  constexpr std::string_view names[] = {"te",
                                        "pr546",
                                        "modelopt",
                                        "torchao",
                                        "te_ref",
                                        "te_fast",
                                        "flashinfer_exact",
                                        "flashinfer_fast",
                                        "flashinfer_dsl_exact",
                                        "flashinfer_dsl_fast"};
  return name_of(profile, names);
}

bool ignores_nan(Profile profile) { return profile == Profile::te || profile >= Profile::te_fast; }

bool takes_half_bound(Profile profile) {
  return profile == Profile::te || profile == Profile::modelopt;
}

bool is_four_bit(Format format) { return format == Format::nvfp4 || format == Format::mxfp4; }

int scale_tile_rows(ScaleLayout layout) {
  return layout == ScaleLayout::s128x4 ? 128 : layout == ScaleLayout::s8x4 ? 8 : 1;
}

int scale_tile_cols(ScaleLayout layout) { return layout == ScaleLayout::linear ? 1 : 4; }

}  // namespace diecast
