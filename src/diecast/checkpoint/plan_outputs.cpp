// Names, types and shapes of what is written; see plan_outputs.h.
#include <diecast/checkpoint/plan_outputs.h>
#include <diecast/checkpoint/select/kept_fp8.h>
#include <diecast/checkpoint/weight_parts.h>

namespace diecast {
namespace {

// Of all experts in one tensor: transposed, as that is.
std::vector<TensorInfo> fused_outputs(const PlannedTensor& tensor, bool weights_only) {
  const auto [experts, rows, cols] = tensor.matrices;
  std::vector<TensorInfo> out = {{tensor.name, StoredDType::u8, {experts, cols / 2, rows}},
                                 {part_name(tensor.name, kScalePart),
                                  StoredDType::f8_e4m3,
                                  {experts, cols / kScaleBlock, rows}},
                                 {part_name(tensor.name, kScale2Part), StoredDType::f32, {}}};
  if (!weights_only) out.push_back({part_name(tensor.name, kInputScalePart), StoredDType::f32, {}});
  return out;
}

std::vector<TensorInfo> mx_outputs(const PlannedTensor& tensor) {
  const StoredForm& form = tensor.form;
  std::vector<std::uint64_t> codes = tensor.shape, scales = tensor.shape;
  const bool bytes = form.format == WeightFormat::mxfp8;
  if (form.config == EngineConfig::gpt_oss) {
    const auto [experts, rows, cols] = tensor.matrices;
    scales = {experts, rows, cols / scale_block(form.format)};
    codes = scales;
    codes.push_back(scale_block(form.format) / 2);
    return {{codes_name(tensor.name, form), StoredDType::u8, codes},
            {scales_name(tensor.name, form), StoredDType::u8, scales}};
  }
  codes.back() /= bytes ? 1 : 2;
  scales.back() /= scale_block(form.format);
  return {{codes_name(tensor.name, form), bytes ? StoredDType::f8_e4m3 : StoredDType::u8, codes},
          {scales_name(tensor.name, form), StoredDType::u8, scales}};
}

}  // namespace

std::vector<TensorInfo> outputs_of(const PlannedTensor& tensor) {
  const StoredForm& form = tensor.form;
  if (tensor.fp8) return kept_fp8_outputs(tensor.name, tensor.shape, *tensor.fp8);
  if (tensor.action == Action::copy) return {{tensor.name, tensor.dtype, tensor.shape}};
  if (tensor.action == Action::dequantize)
    return {{tensor.name, stored_dtype(tensor.to), tensor.shape}};
  const bool weights_only = form.format == WeightFormat::nvfp4_w4a16;
  if (is_mx(form.format)) return mx_outputs(tensor);
  if (tensor.fused) return fused_outputs(tensor, weights_only);
  std::vector<std::uint64_t> leading(tensor.shape.begin(), tensor.shape.end() - 1);
  std::vector<std::uint64_t> experts(leading.begin(), leading.end() - 1);
  std::vector<std::uint64_t> codes = leading, scales = leading;
  codes.push_back(tensor.matrices.cols / 2);
  scales.push_back(tensor.matrices.cols / kScaleBlock);
  const bool rows = tensor.row_scaled;
  if (has_reciprocals(form)) experts = {1};
  std::vector<TensorInfo> out = {
      {codes_name(tensor.name, form), StoredDType::u8, codes},
      {scales_name(tensor.name, form), StoredDType::f8_e4m3, scales},
      {scale_2_name(tensor.name, form), StoredDType::f32, rows ? leading : experts}};
  if (!weights_only) {
    out.push_back({input_scale_name(tensor.name, form), StoredDType::f32,
                   rows ? std::vector<std::uint64_t>{} : experts});
  }
  return out;
}

}  // namespace diecast
