// Names, types and shapes of packed weights; see packed_source.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/fused_experts.h>
#include <diecast/checkpoint/select/packed_source.h>
#include <diecast/checkpoint/select/stored_forms.h>
#include <diecast/checkpoint/weight_parts.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace diecast {
namespace {

constexpr std::string_view kPackedSuffix = ".weight_packed", kBlocksSuffix = "_blocks";
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

// "P.experts.gate_up_proj" of P.experts.gate_up_proj_blocks; else empty.
std::string_view experts_of(std::string_view name) {
  if (!name.ends_with(kBlocksSuffix)) return {};
  name.remove_suffix(kBlocksSuffix.size());
  return fused_bank(name).empty() ? std::string_view() : name;
}

// The scales of codes that have the names and types of a form that is read; null for other tensors.
const TensorInfo* scales_of(const CheckpointHeader& header, const TensorInfo& tensor) {
  const bool bytes = tensor.dtype == StoredDType::u8 || tensor.dtype == StoredDType::i8;
  if (const std::string_view experts = experts_of(tensor.name); !experts.empty()) {
    const TensorInfo* const scales = header.find(cat(experts, "_scales"));
    const bool mxfp4 = scales != nullptr && bytes && is_exponent(scales->dtype);
    return mxfp4 ? scales : nullptr;
  }
  const std::string stem = stem_of(tensor.name);
  if (stem.empty()) return nullptr;
  for (const std::string_view more :
       {".weight_zero_point", ".weight_g_idx", ".weight_global_scale"})
    if (header.find(cat(stem, more)) != nullptr) return nullptr;
  const bool packed = tensor.name.ends_with(kPackedSuffix);
  const TensorInfo* const scales = header.find(stem + (packed ? ".weight_scale" : ".scale"));
  if (scales == nullptr) return nullptr;
  const bool mxfp4 =
      bytes && is_exponent(scales->dtype) && (packed || scales->dtype == StoredDType::f8_e8m0);
  const bool int4 = packed && tensor.dtype == StoredDType::i32 && float_dtype(scales->dtype);
  return mxfp4 || int4 ? scales : nullptr;
}

// What the tensor of codes is called, and its shape, as if it held values.
void unpack(const ScaledSource& source, TensorInfo& tensor) {
  if (source.of_experts) {
    tensor.name = std::string(experts_of(tensor.name));
    tensor.shape = {tensor.shape[0], tensor.shape[2] * kMxBlock, tensor.shape[1]};
    return;
  }
  tensor.name = cat(stem_of(tensor.name), kWeightSuffix);
  tensor.shape[1] *= source.kind == CodeForm::int4 ? 8 : 2;
}

constexpr std::string_view kAgain =
    "write or download the checkpoint again, with the config.json that was made with it";

// The two whole numbers of X.weight_shape.
Result<std::vector<std::uint64_t>> read_shape(const Checkpoint& checkpoint,
                                              const TensorInfo& said) {
  const bool words = said.dtype == StoredDType::i32;
  if ((!words && said.dtype != StoredDType::i64) || said.elements() != 2) {
    return Error{ErrorCode::file_corrupt,
                 cat(quote(said.name), " ", stored_dtype_name(said.dtype), " ",
                     shape_text(said.shape), " is not two numbers in I64 or I32"),
                 std::string(kAgain)};
  }
  std::array<std::int64_t, 2> wide{};
  std::array<std::int32_t, 2> narrow{};
  const std::span<std::byte> bytes =
      words ? std::span<std::byte>(std::as_writable_bytes(std::span(narrow)))
            : std::as_writable_bytes(std::span(wide));
  DIECAST_CHECK(checkpoint.read(said, 0, bytes));
  if (words) std::ranges::copy(narrow, wide.begin());
  return std::vector<std::uint64_t>(wide.begin(), wide.end());
}

}  // namespace

std::optional<ScaledSource> packed_source(const CheckpointHeader& header,
                                          const TensorInfo& tensor) {
  const TensorInfo* const scales = scales_of(header, tensor);
  if (scales == nullptr || tensor.bytes() == 0) return std::nullopt;
  if (!experts_of(tensor.name).empty()) {
    if (tensor.shape.size() != 4 || tensor.shape[3] != kMxBlock / 2) return std::nullopt;
    const std::vector<std::uint64_t> want(tensor.shape.begin(), tensor.shape.end() - 1);
    if (scales->shape != want) return std::nullopt;
    return ScaledSource{scales->name, 1, kMxBlock, tensor.name, CodeForm::mxfp4, true};
  }
  if (tensor.shape.size() != 2 || scales->shape.size() != 2 || scales->shape[0] != tensor.shape[0])
    return std::nullopt;
  const std::uint64_t groups = scales->shape[1];
  if (tensor.dtype != StoredDType::i32) {
    const std::uint64_t cols = tensor.shape[1] * 2;
    if (cols % kMxBlock != 0 || groups != cols / kMxBlock) return std::nullopt;
    return ScaledSource{scales->name, 1, kMxBlock, tensor.name, CodeForm::mxfp4};
  }
  const std::uint64_t cols = tensor.shape[1] * 8;
  if (groups == 0 || cols % groups != 0) return std::nullopt;
  return ScaledSource{scales->name, 1, cols / groups, tensor.name, CodeForm::int4};
}

Result<void> refuse_misfits(const CheckpointHeader& header) {
  for (const TensorInfo& tensor : header.tensors) {
    const TensorInfo* const scales = scales_of(header, tensor);
    if (scales == nullptr || tensor.bytes() == 0 || packed_source(header, tensor)) continue;
    // One scale for all of a matrix is of a form that is not read.
    if (experts_of(tensor.name).empty() && (tensor.shape.size() != 2 || scales->shape.size() != 2))
      continue;
    return Error{ErrorCode::file_corrupt,
                 cat("the scales ", quote(scales->name), " ", stored_dtype_name(scales->dtype), " ",
                     shape_text(scales->shape), " do not fit ", quote(tensor.name), " ",
                     stored_dtype_name(tensor.dtype), " ", shape_text(tensor.shape)),
                 "write or download the checkpoint again"};
  }
  return {};
}

CheckpointHeader unpacked_header(const CheckpointHeader& header,
                                 std::map<std::string, ScaledSource>& sources,
                                 const std::optional<Nvfp4Conversion>& conversion) {
  CheckpointHeader out = header;
  std::set<std::string> parts;
  for (TensorInfo& tensor : out.tensors) {
    if (conversion && tensor.name.ends_with(kComfyTensor)) parts.insert(tensor.name);
    auto source = packed_source(header, tensor);
    if (!source && conversion) source = nvfp4_source(header, tensor, *conversion);
    if (!source) continue;
    for (const std::string& part : {source->scales, source->global, source->input})
      parts.insert(part);
    parts.insert(stem_of(tensor.name) + ".weight_shape");
    unpack(*source, tensor);
    sources.emplace(tensor.name, *source);
  }
  std::erase_if(out.tensors, [&](const TensorInfo& each) { return parts.contains(each.name); });
  std::ranges::stable_sort(out.tensors, {}, &TensorInfo::name);
  return out;
}

Result<void> check_integers(const CheckpointHeader& header,
                            const std::map<std::string, ScaledSource>& sources,
                            const ModelConfig& model) {
  for (const auto& [name, source] : sources) {
    if (source.kind != CodeForm::int4) continue;
    if (!model.unread_integers.empty()) {
      return Error{ErrorCode::not_supported,
                   cat(quote(name), " is packed, and ", model.unread_integers),
                   "give a model whose integers have 4 bits and are symmetric"};
    }
    const std::uint64_t cols = header.find(name)->shape[1];
    const auto fits = [cols, own = source.block_cols](std::uint64_t size) {
      return own == (size == 0 ? cols : size);
    };
    const std::vector<std::uint64_t>& sizes = model.integer_groups;
    if (sizes.empty() || std::ranges::any_of(sizes, fits)) continue;
    return Error{ErrorCode::file_corrupt,
                 cat(quote(source.scales), " has a scale for each ", source.block_cols,
                     " of a row of ", cols, ", and the model's config says ",
                     sizes[0] == 0 ? "one for all of it" : cat("a group_size of ", sizes[0])),
                 std::string(kAgain)};
  }
  return {};
}

Result<void> check_weight_shapes(const Checkpoint& checkpoint) {
  const CheckpointHeader& header = checkpoint.header();
  for (const TensorInfo& tensor : header.tensors) {
    if (!tensor.name.ends_with(kPackedSuffix)) continue;
    const std::optional<ScaledSource> source = packed_source(header, tensor);
    const TensorInfo* const said = header.find(stem_of(tensor.name) + ".weight_shape");
    if (!source || said == nullptr) continue;
    TensorInfo unpacked = tensor;
    unpack(*source, unpacked);
    DIECAST_TRY(const std::vector<std::uint64_t> shape, read_shape(checkpoint, *said));
    if (shape == unpacked.shape) continue;
    return Error{ErrorCode::file_corrupt,
                 cat(quote(said->name), " says ", shape_text(shape), ", and ", quote(tensor.name),
                     " holds ", shape_text(unpacked.shape)),
                 std::string(kAgain)};
  }
  return {};
}

Matrices matrices_of(const std::vector<std::uint64_t>& shape, bool columns) {
  const std::uint64_t inner = shape[shape.size() - 2], last = shape.back();
  return {shape.size() == 3 ? shape[0] : 1, columns ? last : inner, columns ? inner : last};
}

Placement in_columns(const std::string& tensor, const Matrices& of) {
  return {tensor, 0, 1, of.rows, of.rows * of.cols};
}

void decode_from(const ScaledSource& source, PlannedTensor& tensor) {
  tensor.action = Action::dequantize;
  tensor.matrices = matrices_of(tensor.shape, source.of_experts);
  tensor.scaled = source;
  if (source.of_experts) tensor.place = in_columns(tensor.name, tensor.matrices);
}

}  // namespace diecast
