// Metadata that nobody has to believe; see plan_splits.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/plan_splits.h>

#include <nlohmann/json.hpp>

namespace diecast {
namespace {

Error bad_split(std::string_view name) {
  return {
      ErrorCode::file_corrupt,
      cat("what the metadata's ", kExpertsKey, " say of ", quote(name), " does not fit the file"),
      "quantize the original checkpoint again with `diecast quantize`"};
}

// None: no tensor of experts.
std::optional<SplitTensor> read_tensor(const std::string& name, const nlohmann::json& value,
                                       std::uint32_t file) {
  SplitTensor out{name, {}, false, file};
  if (!value.is_object() || fused_bank(name).empty()) return std::nullopt;
  const auto shape = value.find("shape"), columns = value.find("columns");
  if (shape == value.end() || columns == value.end() || !columns->is_boolean() ||
      !shape->is_array() || shape->size() != 3)
    return std::nullopt;
  for (const auto& dim : *shape) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() == 0) return std::nullopt;
    out.shape.push_back(dim.get<std::uint64_t>());
  }
  out.columns = columns->get<bool>();
  if (!tensor_size(StoredDType::f32, out.shape).fault.empty()) return std::nullopt;
  return out;
}

}  // namespace

Result<void> Splits::read(const Metadata& metadata, std::uint32_t file, std::size_t weights) {
  const auto entry = metadata.find(std::string(kExpertsKey));
  if (entry == metadata.end()) return {};
  const auto listed = nlohmann::json::parse(entry->second, nullptr, false);
  if (!listed.is_object()) return bad_split("experts");
  for (const auto& [name, value] : listed.items()) {
    std::optional<SplitTensor> tensor = read_tensor(name, value, file);
    if (!tensor || tensor->shape[0] > weights) return bad_split(name);
    Split split{std::move(*tensor), 0, 0, {}};
    for (ExpertPart& part : parts_of(name, split.tensor.shape, split.tensor.columns)) {
      ++split.parts;
      std::string weight = part.name;
      parts_.emplace(std::move(weight), std::pair(splits_.size(), std::move(part)));
    }
    splits_.push_back(std::move(split));
  }
  return {};
}

Result<bool> Splits::put_back(PlannedTensor& tensor, DType type) {
  const auto at = parts_.find(tensor.name);
  if (at == parts_.end()) return false;
  Split& split = splits_[at->second.first];
  const ExpertPart& part = at->second.second;
  const bool fits = tensor.file == split.tensor.file && tensor.shape.size() == 2 &&
                    tensor.matrices.rows == part.rows && tensor.matrices.cols == part.cols &&
                    (!split.type || split.type == type);
  if (!fits) return bad_split(split.tensor.name);
  split.type = type;
  ++split.found;
  tensor.place = part.place;
  return true;
}

Result<void> Splits::add_to(std::vector<std::vector<TensorInfo>>& outputs) const {
  for (const Split& split : splits_) {
    if (split.found != split.parts) return bad_split(split.tensor.name);
    outputs[split.tensor.file].push_back(
        {split.tensor.name, stored_dtype(*split.type), split.tensor.shape});
  }
  return {};
}

}  // namespace diecast
