// Shapes of scales; see layer_form.h.
#include <diecast/checkpoint/select/kept_fp8.h>
#include <diecast/checkpoint/verify/layer_form.h>
#include <diecast/checkpoint/weight_parts.h>

namespace diecast {
namespace {

std::vector<std::uint64_t> scale_shape(const std::vector<std::uint64_t>& shape,
                                       const Fp8Layout& layout) {
  const auto blocks = [](std::uint64_t size, std::uint64_t block) {
    return size / block + (size % block != 0);
  };
  switch (layout.form) {
    case Fp8Form::tensor:
      return {};
    case Fp8Form::rows:
      return {shape[0], 1};
    case Fp8Form::blocks:
      return {blocks(shape[0], layout.block_rows), blocks(shape[1], layout.block_cols)};
  }
  return {};
}

}  // namespace

std::vector<TensorInfo> fp8_tensors(const std::string& weight,
                                    const std::vector<std::uint64_t>& shape,
                                    const Fp8Layout& layout) {
  if (layout.names == Fp8Names::modelopt) return kept_fp8_outputs(weight, shape, layout.form);
  const bool inverse = layout.names == Fp8Names::fp8 && layout.form == Fp8Form::blocks;
  const std::string scale = part_name(weight, inverse ? "weight_scale_inv" : kScalePart);
  std::vector<TensorInfo> out = {{weight, StoredDType::f8_e4m3, shape},
                                 {scale, StoredDType::f32, scale_shape(shape, layout)}};
  if (layout.static_inputs)
    out.push_back({part_name(weight, kInputScalePart), StoredDType::f32, {}});
  return out;
}

std::string fp8_title(const Fp8Layout& layout) {
  if (layout.names != Fp8Names::fp8)
    return cat(word(layout.form),
               layout.names == Fp8Names::modelopt ? "" : " of compressed-tensors");
  if (layout.form != Fp8Form::blocks) return "FP8";
  return cat("FP8 in blocks of ", layout.block_rows, "x", layout.block_cols);
}

}  // namespace diecast
