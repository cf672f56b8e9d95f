// Names, types and shapes of packed weights; see packed_source.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <set>

namespace diecast {
namespace {

constexpr std::string_view kPackedSuffix = ".weight_packed";
constexpr std::uint64_t kMxBlock = 32;

// "X" of X.weight_packed and of X.weight.
std::string stem_of(std::string_view name) {
  for (const std::string_view suffix : {kPackedSuffix, kWeightSuffix})
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  return {};
}

bool is_exponent(StoredDType type) {
  return type == StoredDType::u8 || type == StoredDType::f8_e8m0;
}

}  // namespace

std::optional<ScaledSource> packed_source(const CheckpointHeader& header,
                                          const TensorInfo& tensor) {
  const std::string stem = stem_of(tensor.name);
  if (stem.empty() || tensor.shape.size() != 2 || tensor.bytes() == 0) return std::nullopt;
  const bool packed = tensor.name.ends_with(kPackedSuffix);
  const TensorInfo* scale = header.find(stem + (packed ? ".weight_scale" : ".scale"));
  if (scale == nullptr || scale->shape.size() != 2 || scale->shape[0] != tensor.shape[0])
    return std::nullopt;
  for (const std::string_view more :
       {".weight_zero_point", ".weight_g_idx", ".weight_global_scale"})
    if (header.find(cat(stem, more)) != nullptr) return std::nullopt;
  const bool bytes = tensor.dtype == StoredDType::u8 || tensor.dtype == StoredDType::i8;
  const std::uint64_t groups = scale->shape[1];
  if (bytes && is_exponent(scale->dtype) && (packed || scale->dtype == StoredDType::f8_e8m0)) {
    const std::uint64_t cols = tensor.shape[1] * 2;
    if (cols % kMxBlock != 0 || groups != cols / kMxBlock) return std::nullopt;
    return ScaledSource{scale->name, 1, kMxBlock, tensor.name, CodeForm::mxfp4};
  }
  const std::uint64_t cols = tensor.shape[1] * 8;
  if (!packed || tensor.dtype != StoredDType::i32 || !float_dtype(scale->dtype) || groups == 0 ||
      cols % groups != 0)
    return std::nullopt;
  return ScaledSource{scale->name, 1, cols / groups, tensor.name, CodeForm::int4};
}

CheckpointHeader unpacked_header(const CheckpointHeader& header,
                                 std::map<std::string, ScaledSource>& sources) {
  CheckpointHeader out = header;
  std::set<std::string> parts;
  for (TensorInfo& tensor : out.tensors) {
    const auto source = packed_source(header, tensor);
    if (!source) continue;
    const std::string stem = stem_of(tensor.name);
    parts.insert(source->scales);
    parts.insert(stem + ".weight_shape");
    tensor.name = cat(stem, kWeightSuffix);
    tensor.shape[1] *= source->kind == CodeForm::int4 ? 8 : 2;
    sources.emplace(tensor.name, *source);
  }
  std::erase_if(out.tensors, [&](const TensorInfo& each) { return parts.contains(each.name); });
  std::ranges::stable_sort(out.tensors, {}, &TensorInfo::name);
  return out;
}

}  // namespace diecast
