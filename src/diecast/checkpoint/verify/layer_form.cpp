// Shapes of scales; see layer_form.h.
#include <diecast/checkpoint/select/kept_fp8.h>
#include <diecast/checkpoint/verify/layer_form.h>
#include <diecast/checkpoint/weight_parts.h>

namespace diecast {
namespace {

std::vector<std::uint64_t> scale_shape(const std::vector<std::uint64_t>& shape, Fp8Form form) {
  constexpr std::uint64_t kBlock = 128;
  const auto blocks = [](std::uint64_t size) { return size / kBlock + (size % kBlock != 0); };
  switch (form) {
    case Fp8Form::tensor:
      return {};
    case Fp8Form::rows:
      return {shape[0], 1};
    case Fp8Form::blocks:
      return {blocks(shape[0]), blocks(shape[1])};
  }
  return {};
}

}  // namespace

std::vector<TensorInfo> fp8_tensors(const std::string& weight,
                                    const std::vector<std::uint64_t>& shape,
                                    const Fp8Layout& layout) {
  if (layout.names == Fp8Names::modelopt) return kept_fp8_outputs(weight, shape, layout.form);
  std::vector<TensorInfo> out = {
      {weight, StoredDType::f8_e4m3, shape},
      {part_name(weight, kScalePart), StoredDType::f32, scale_shape(shape, layout.form)}};
  if (layout.static_inputs)
    out.push_back({part_name(weight, kInputScalePart), StoredDType::f32, {}});
  return out;
}

}  // namespace diecast
