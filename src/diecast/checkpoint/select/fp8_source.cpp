// Which scales fit which weight; see fp8_source.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/fp8_source.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr std::uint64_t kMxBlock = 32;

using Extents = std::vector<std::uint64_t>;

std::uint64_t blocks(std::uint64_t size, std::uint64_t block) {
  return size / block + (size % block != 0);
}

bool is_scale(StoredDType type) {
  return float_dtype(type).has_value() || type == StoredDType::f8_e8m0 || type == StoredDType::u8;
}

Error misfit(const TensorInfo& scale, const TensorInfo& weight, const ModelConfig& model) {
  return {ErrorCode::file_corrupt,
          cat("the scales ", quote(scale.name), " ", stored_dtype_name(scale.dtype), " ",
              shape_text(scale.shape), " do not fit ", quote(weight.name), " ",
              shape_text(weight.shape), " in blocks of ", model.blocks[0], "x", model.blocks[1]),
          "write or download the checkpoint again, with the config.json that says its "
          "weight_block_size or block_structure"};
}

Error unread(const TensorInfo& weight, const ModelConfig& model) {
  return {
      ErrorCode::not_supported,
      cat("the size of the blocks of ", quote(weight.name), " is not known: ", model.unread_blocks),
      "give a model whose config.json says one size, [rows, columns], as weight_block_size or as "
      "block_structure in all groups that have blocks"};
}

}  // namespace

Result<std::optional<ScaledSource>> fp8_source(const CheckpointHeader& header,
                                               const TensorInfo& tensor, const ModelConfig& model) {
  std::optional<ScaledSource> none;
  if (tensor.dtype != StoredDType::f8_e4m3 || tensor.shape.size() != 2 || tensor.bytes() == 0 ||
      !tensor.name.ends_with(kWeightSuffix))
    return none;
  const std::uint64_t rows = tensor.shape[0], cols = tensor.shape[1];
  for (const std::string_view part : {"weight_scale_inv", "scale", "weight_scale"}) {
    const TensorInfo* scale = header.find(part_name(tensor.name, part));
    if (scale == nullptr) continue;
    const bool one = scale->elements() == 1 && scale->shape.size() <= 2;
    const bool by_row = part == "weight_scale" &&
                        (scale->shape == Extents{rows} || scale->shape == Extents{rows, 1});
    const Extents grid = {blocks(rows, model.blocks[0]), blocks(cols, model.blocks[1])};
    const Extents spread = {grid[0], 1, grid[1], 1};
    const Extents groups = {rows, blocks(cols, kMxBlock)};
    const bool exponents = scale->dtype == StoredDType::u8 || scale->dtype == StoredDType::f8_e8m0;
    const bool mx = exponents && scale->shape == groups && cols % kMxBlock == 0;
    if (!model.unread_blocks.empty() && !mx && !one && !by_row) return unread(tensor, model);
    BlockSize size{};
    if (mx)
      size = {1, kMxBlock};
    else if (scale->shape == (part == "weight_scale" ? spread : grid))
      size = model.blocks;
    else if (one)
      size = {rows, cols};
    else if (by_row)
      size = {1, cols};
    else if (scale->shape == grid)
      size = model.blocks;
    if (!is_scale(scale->dtype) || size == BlockSize{}) return misfit(*scale, tensor, model);
    return std::optional(ScaledSource{scale->name, size[0], size[1], tensor.name, CodeForm::fp8});
  }
  return none;
}

Result<std::optional<ScaledSource>> fp8_experts_source(const CheckpointHeader& header,
                                                       const TensorInfo& tensor,
                                                       const ModelConfig& model) {
  std::optional<ScaledSource> none;
  if (tensor.dtype != StoredDType::f8_e4m3 || tensor.shape.size() != 3 || tensor.bytes() == 0 ||
      fused_bank(tensor.name).empty())
    return none;
  const TensorInfo* scale = header.find(cat(tensor.name, "_scale_inv"));
  if (scale == nullptr) return none;
  if (!model.unread_blocks.empty()) return unread(tensor, model);
  const std::uint64_t rows = tensor.shape[1], cols = tensor.shape[2];
  const Extents grid = {tensor.shape[0], blocks(rows, model.blocks[0]),
                        blocks(cols, model.blocks[1])};
  if (!is_scale(scale->dtype) || scale->shape != grid) return misfit(*scale, tensor, model);
  // Rows are counted through all experts, and so are their blocks.
  const std::uint64_t block_rows = grid[1] == 1 ? rows : model.blocks[0];
  if (rows % block_rows != 0) {
    return Error{ErrorCode::not_supported,
                 cat("the experts ", quote(tensor.name), " ", shape_text(tensor.shape),
                     " have no whole blocks of ", block_rows, " rows"),
                 "give a model whose experts are apart"};
  }
  return std::optional(
      ScaledSource{scale->name, block_rows, model.blocks[1], tensor.name, CodeForm::fp8});
}

Result<std::set<std::string>> fp8_parts(const CheckpointHeader& header, const ModelConfig& model) {
  std::set<std::string> out;
  for (const TensorInfo& tensor : header.tensors) {
    DIECAST_TRY(const auto source, fp8_source(header, tensor, model));
    if (!source) continue;
    out.insert(source->scales);
    for (const std::string_view part : {"input_scale", "activation_scale"})
      out.insert(part_name(tensor.name, part));
  }
  return out;
}

}  // namespace diecast
