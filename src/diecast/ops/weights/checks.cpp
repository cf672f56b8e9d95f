// Checks of weights and shards; see checks.h.
#include <diecast/base/text.h>
#include <diecast/ops/weights/checks.h>

namespace diecast {
namespace {

// The padded form of linear scales is no layout of its own, so a tensor's own check does not see
// it.
Result<void> check_padded_scales(const QuantizedSide& side, std::int64_t rows, std::int64_t cols,
                                 std::int64_t block, const std::string& name) {
  if (!side.present()) return {};
  const std::int64_t need = ceil_div(rows, 128) * 128 * ceil_div(cols, 4 * block) * 4;
  if (side.scale_bytes >= need) return {};
  return Error{
      ErrorCode::shape_mismatch,
      cat(name, ": the scale buffer has ", side.scale_bytes, " bytes, padded scales need ", need),
      cat("allocate ", need, " bytes, or set padded_scales = false")};
}

Result<void> check_counts(std::string_view op, std::size_t weights, std::size_t shards,
                          std::size_t offsets, const MasterCastOptions& options) {
  std::size_t fragments = options.fragments.size();
  if (fragments == 0 || fragments == weights) fragments = options.column_fragments.size();
  if (shards == weights && offsets == weights && (fragments == 0 || fragments == weights))
    return {};
  return Error{ErrorCode::invalid_argument,
               cat(op, ": ", weights, " weights, ", shards, " master shards, ", offsets,
                   " start offsets and ", fragments, " fragments"),
               "give one shard and one offset a weight, and one fragment a weight or none at all"};
}

Result<void> check_options(const WeightFamily& family, const MasterCastOptions& options) {
  const std::string_view op = family.op;
  if (!options.manual_post_all_gather_processing && !family.mx) {
    return Error{ErrorCode::not_supported,
                 cat(op,
                     ": manual_post_all_gather_processing is false, but NVFP4 has no automatic "
                     "processing after the gather"),
                 "leave it true and call post_all_gather_processing once the weights are whole"};
  }
  if (!family.mx && !options.column_fragments.empty()) {
    return Error{ErrorCode::not_supported, cat(op, ": column_fragments are for MXFP8 alone"),
                 "leave the option out: NVFP4's columnwise side is made of whole weights"};
  }
  if (options.gather && !(options.fragments.empty() && options.column_fragments.empty())) {
    return Error{ErrorCode::not_supported,
                 cat(op, ": fragments of weights cannot be gathered here"),
                 "set gather = false and gather the fragments yourself"};
  }
  if (options.model != DType::bf16 && options.model != DType::f16 && options.model != DType::f32) {
    return Error{ErrorCode::dtype_mismatch,
                 cat(op, ": the model type is ", dtype_name(options.model)),
                 "model = DType::bf16, f16 or f32"};
  }
  return {};
}

// The master values: their type, their number and where they begin.
Result<void> check_shard(const Tensor& shard, std::int64_t start, const QuantizedTensor& weight,
                         const MasterCastOptions& options, const std::string& name) {
  DIECAST_CHECK(shard.check(name + " master shard"));
  DIECAST_CHECK(shard.check_rows_known(name + " master shard"));
  const std::int64_t count = shard.rows() * shard.cols();
  if (count == 0) return {};
  if (shard.dtype != DType::f32 && shard.dtype != DType::bf16) {
    return Error{ErrorCode::dtype_mismatch,
                 cat(name, ": the master shard is ", dtype_name(shard.dtype)),
                 "master shards are f32 or bf16"};
  }
  if (shard.dtype == DType::bf16 && options.model != DType::bf16) {
    return Error{ErrorCode::dtype_mismatch,
                 cat(name, ": the master shard is bf16, the model ", dtype_name(options.model)),
                 "model = DType::bf16 for bf16 master values"};
  }
  if (shard.stride() != shard.cols() && shard.rows() > 1) {
    return Error{ErrorCode::shape_mismatch, cat(name, ": the master shard's rows lie apart"),
                 "a shard's values lie one behind another: row_stride = 0"};
  }
  const std::int64_t elements = weight.rows() * weight.cols();
  if (start < 0 || start > elements - count) {
    return Error{ErrorCode::invalid_argument,
                 cat(name, ": the shard of ", count, " elements from ", start, " on is outside ",
                     weight.shape.text(), " with ", elements),
                 cat("0 <= start offset, and start offset + elements <= ", elements)};
  }
  return {};
}

bool is_mxfp8(const QuantizedTensor& weight) {
  const QuantizedType& type = weight.type;
  const bool mxfp8 = type.format == Format::mxfp8_e4m3 || type.format == Format::mxfp8_e5m2;
  return mxfp8 && !type.square;
}
bool is_tiled_nvfp4(const QuantizedTensor& weight) {
  const QuantizedType& type = weight.type;
  return type.format == Format::nvfp4 && type.square && type.e4m3_bound == 448;
}

// A tensor may have either direction alone, but a cast writes the rowwise one, of MXFP8 both. An
// amax is an address in a descriptor, which no launch checks.
Result<void> check_directions(const WeightFamily& family, const QuantizedTensor& weight,
                              const std::string& name) {
  for (const QuantizedSide* side : {&weight.rowwise, &weight.columnwise}) {
    if (reinterpret_cast<std::uintptr_t>(side->amax) % sizeof(float) == 0) continue;
    return Error{ErrorCode::misaligned, cat(name, ": an amax is not at a multiple of 4 bytes"),
                 "align amax to 4 bytes: it is a float"};
  }
  const bool whole = weight.rowwise.present() && (weight.columnwise.present() || !family.mx);
  if (whole || weight.rows() * weight.cols() == 0) return {};
  return Error{
      ErrorCode::missing_buffer,
      cat(name, " has no ", weight.rowwise.present() ? "columnwise" : "rowwise", " buffers"),
      family.mx ? "set data and scale of rowwise and of columnwise"
                : "set data, scale and amax of rowwise"};
}

}  // namespace

Result<void> check_weight(const WeightFamily& family, const QuantizedTensor& weight,
                          const std::string& name, bool padded_scales) {
  if (weight.shape.rank != 2) {
    return Error{ErrorCode::shape_mismatch, cat(name, " has shape ", weight.shape.text()),
                 "weights have two dimensions"};
  }
  DIECAST_CHECK(weight.refuse_row_scaled(family.op, name));
  const QuantizedType& type = weight.type;
  const bool fits = family.mx ? is_mxfp8(weight) : is_tiled_nvfp4(weight);
  if (!fits || type.profile != Profile::te) {
    return Error{
        ErrorCode::not_supported,
        cat(name, " is ", word(type.format), " in ", type.block_rows(), "x", type.block(),
            " blocks, E4M3 bound ", int{type.e4m3_bound}, ", profile ", word(type.profile)),
        family.mx ? "this op takes mxfp8_e4m3 or mxfp8_e5m2 in 1x32 blocks, profile te"
                  : "these ops take nvfp4 in 16x16 blocks, one amax, E4M3 bound 448, "
                    "profile te"};
  }
  DIECAST_CHECK(weight.check(family.op, name));
  if (weight.rowwise.scale_stride != 0 || weight.columnwise.scale_stride != 0) {
    return Error{ErrorCode::not_supported, cat(name, " has linear scales whose rows are apart"),
                 "set scale_stride = 0, or padded_scales = true for rows of 4n scales"};
  }
  DIECAST_CHECK(check_directions(family, weight, name));
  if (!padded_scales) return {};
  if (type.layout != ScaleLayout::linear) {
    return Error{ErrorCode::not_supported, cat(name, " has ", word(type.layout), " scales"),
                 "padded_scales is for linear scales: tiled layouts are padded by themselves"};
  }
  const std::int64_t rows = weight.rows(), cols = weight.cols(), block = type.block();
  DIECAST_CHECK(check_padded_scales(weight.rowwise, rows, cols, block, name));
  return check_padded_scales(weight.columnwise, cols, rows, block, name);
}

Result<std::vector<ShardedWeight>> sharded_weights(const WeightFamily& family,
                                                   std::span<const QuantizedTensor> model_weights,
                                                   std::span<const Tensor> master_shards,
                                                   std::span<const std::int64_t> start_offsets,
                                                   const MasterCastOptions& options) {
  DIECAST_CHECK(check_counts(family.op, model_weights.size(), master_shards.size(),
                             start_offsets.size(), options));
  DIECAST_CHECK(check_options(family, options));
  std::vector<ShardedWeight> list;
  const Tensor* first_shard = nullptr;
  for (std::size_t i = 0; i < model_weights.size(); ++i) {
    const std::string name = cat("weight ", i);
    const Tensor& shard = master_shards[i];
    const std::int64_t count =
        shard.data == nullptr ? 0 : capped_product(shard.rows(), shard.cols());
    ShardedWeight own{model_weights[i],
                      shard.data,
                      {},
                      options.fragments.empty() ? nullptr : options.fragments[i],
                      options.padded_scales,
                      options.column_fragments.empty() ? nullptr : options.column_fragments[i]};
    QuantizedTensor checked = own.weight;  // with the data that this rank needs not have
    const bool needs_none = count == 0 && !options.gather;
    if (checked.rowwise.data == nullptr && (own.codes != nullptr || needs_none)) {
      DIECAST_TRY(const QuantizedSide need, checked.rowwise_sizes());
      checked.rowwise.data = &checked, checked.rowwise.data_bytes = need.data_bytes;
    }
    if (family.mx && checked.columnwise.data == nullptr &&
        (own.column_codes != nullptr || needs_none)) {
      DIECAST_TRY(const QuantizedSide need, checked.columnwise_sizes());
      checked.columnwise.data = &checked, checked.columnwise.data_bytes = need.data_bytes;
    }
    DIECAST_CHECK(check_weight(family, checked, name, options.padded_scales));
    const QuantizedType &type = checked.type, &first = model_weights[0].type;
    if (type.layout != first.layout || type.format != first.format) {
      return Error{ErrorCode::not_supported,
                   cat(name, " is ", word(type.format), " with ", word(type.layout),
                       " scales, weight 0 ", word(first.format), " with ", word(first.layout)),
                   "cast weights of different formats or scale layouts in calls of their own"};
    }
    DIECAST_CHECK(check_shard(shard, start_offsets[i], checked, options, name));
    if (count > 0) own.shard = {start_offsets[i], start_offsets[i] + count};
    if (count > 0 && first_shard == nullptr) first_shard = &shard;
    if (count > 0 && shard.dtype != first_shard->dtype) {
      return Error{ErrorCode::dtype_mismatch,
                   cat(name, ": the master shard is ", dtype_name(shard.dtype), ", others are ",
                       dtype_name(first_shard->dtype)),
                   "give all master shards of a call one element type"};
    }
    list.push_back(std::move(own));
  }
  return list;
}

}  // namespace diecast
