// Names, types and shapes of parts; see plan_read_back.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan_read_back.h>
#include <diecast/checkpoint/quantized_metadata.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/weight_parts.h>

namespace diecast {
namespace {

Error tiled(const TensorInfo& scales) {
  return {ErrorCode::not_supported,
          cat("tensor ", quote(scales.name), " ", shape_text(scales.shape),
              " has the shape of scales in tiles of 128x4"),
          "--scale-layout 128x4 reads it, if that is what it is"};
}

Error no_matrix(const std::string& name) {
  return {ErrorCode::not_supported,
          cat(quote(name), " is no matrix with ModelOpt's names, which alone have another layout"),
          "leave out --scale-layout and --nibbles"};
}

}  // namespace

Result<PlannedTensor> read_back(const CheckpointHeader& header, const std::string& name, bool ours,
                                const Nvfp4Layout& layout) {
  const auto part = [&](const std::string& full, StoredDType dtype) -> Result<const TensorInfo*> {
    const TensorInfo* found = header.find(full);
    if (found == nullptr)
      return corrupt(cat("tensor ", quote(full), " of the quantized ", quote(name), " is missing"),
                     ours);
    if (found->dtype == dtype) return found;
    return corrupt(cat("tensor ", quote(full), " is ", stored_dtype_name(found->dtype), ", not ",
                       stored_dtype_name(dtype)),
                   ours);
  };
  const bool packed = header.find(part_name(name, kPackedPart)) != nullptr;
  const StoredForm form{WeightFormat::nvfp4,
                        packed ? EngineConfig::compressed_tensors : EngineConfig::modelopt};
  DIECAST_TRY(const TensorInfo* codes, part(codes_name(name, form), StoredDType::u8));
  DIECAST_TRY(const TensorInfo* scales, part(scales_name(name, form), StoredDType::f8_e4m3));
  DIECAST_TRY(const TensorInfo* scale_2, part(scale_2_name(name, form), StoredDType::f32));
  const auto misfit = [&](const TensorInfo& tensor) {
    return corrupt(cat("tensor ", quote(tensor.name), " ", shape_text(tensor.shape),
                       " does not fit ", quote(name), " ", shape_text(codes->shape)),
                   ours);
  };
  const bool fused = !name.ends_with(kWeightSuffix);
  std::vector<std::uint64_t> shape = codes->shape;
  if ((shape.size() != 2 && shape.size() != 3) || (fused && shape.size() != 3) ||
      codes->bytes() == 0)
    return misfit(*codes);
  std::uint64_t& inputs = fused ? shape[1] : shape.back();
  if (inputs % 8 != 0) return misfit(*codes);
  inputs /= 8;
  const bool matrix = !packed && !fused && shape.size() == 2;
  const bool tiles = layout.scales != ScaleLayout::linear;
  if ((tiles || layout.high_first) && !matrix) return no_matrix(name);
  if (scales->shape != (matrix ? scales_in(layout.scales, shape) : shape)) {
    const bool could = matrix && scales->shape == scales_in(ScaleLayout::s128x4, shape);
    return could && !ours ? tiled(*scales) : misfit(*scales);
  }
  inputs *= 16;  // at most twice a dimension of a file that exists

  PlannedTensor out;
  out.name = name;
  out.dtype = StoredDType::u8;
  out.shape = codes->shape;
  out.file = codes->file;
  out.action = Action::dequantize;
  out.layout = layout;
  out.matrices = matrices_of(shape, fused);
  if (fused) {
    out.fused = true;
    out.place = in_columns(name, out.matrices);
    return scale_2->elements() == 1 ? Result(out) : misfit(*scale_2);
  }
  const std::vector<std::uint64_t> leading(shape.begin(), shape.end() - 1);
  const std::vector<std::uint64_t> experts(leading.begin(), leading.end() - 1);
  out.form = form;
  out.row_scaled = !packed && scale_2->shape == leading;
  const bool one = shape.size() == 2 && scale_2->elements() == 1;  // [] and other tools' [1]
  if (!out.row_scaled && (packed || scale_2->shape != experts) && !one) return misfit(*scale_2);
  return out;
}

}  // namespace diecast
