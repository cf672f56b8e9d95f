// Descriptors of weights; see descriptor.h. Units are what templates/device/groups/weights.h
// says.
#include <diecast/base/text.h>
#include <diecast/ops/weights/descriptor.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace diecast {
namespace {

constexpr std::int64_t kShardUnitCols = 1024, kScaleUnitCols = 512, kTransposeUnit = 256;

std::int64_t align_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

MemberSide described(const QuantizedSide& side) {
  return {reinterpret_cast<std::uintptr_t>(side.data), reinterpret_cast<std::uintptr_t>(side.scale),
          reinterpret_cast<std::uintptr_t>(side.amax), 0};
}

bool is_mx(const QuantizedTensor& weight) { return weight.type.format != Format::nvfp4; }

// Rows of a row of tiles (NVFP4) or of 32x32 squares, by which the shards' units go.
std::int64_t unit_rows(const QuantizedTensor& weight) { return is_mx(weight) ? 32 : 16; }

// Rows and columns of one direction's scale matrix with the layout's padding.
std::array<std::int64_t, 2> padded(const ShardedWeight& w, std::int64_t rows, std::int64_t cols) {
  const ScaleLayout layout = w.weight.type.layout;
  const bool compact = layout == ScaleLayout::linear && w.padded_scales;
  return {align_up(rows, compact ? 128 : scale_tile_rows(layout)),
          align_up(ceil_div(cols, w.weight.type.block()), compact ? 4 : scale_tile_cols(layout))};
}

WeightDescriptor described(const ShardedWeight& w) {
  const QuantizedTensor& t = w.weight;
  const ShardStorage storage = shard_storage(t.type.format, t.rows(), t.cols(), w.shard);
  WeightDescriptor out;
  out.member.matrix = reinterpret_cast<std::uintptr_t>(w.values);
  out.member.rows = t.rows();
  const std::int64_t rows = unit_rows(t);
  if (t.cols() > 0) out.member.row_begin = w.shard.begin / t.cols() / rows * rows;
  out.member.rowwise = described(t.rowwise);
  out.member.columnwise = described(t.columnwise);
  // The byte of code 0, were it there.
  const auto of_fragment = [&](const void* codes) {
    return reinterpret_cast<std::uintptr_t>(codes) -
           static_cast<std::uint64_t>(storage.touched.begin);
  };
  if (w.codes != nullptr) out.member.rowwise.data = of_fragment(w.codes);
  if (w.column_codes != nullptr) out.member.columnwise.data = of_fragment(w.column_codes);
  out.cols = t.cols();
  out.begin = w.shard.begin;
  out.end = w.shard.end;
  out.row_codes = is_mx(t) ? t.cols() : align_up(t.cols(), 16);
  out.column_codes = is_mx(t) ? t.rows() : align_up(t.rows(), 16);
  out.first_code = storage.first_code;
  out.end_code = storage.end_code;
  const auto rowwise = padded(w, t.rows(), t.cols());
  auto columnwise = padded(w, t.cols(), t.rows());
  // Linear scales of MXFP8's columns lie as its data does: row after row of blocks.
  if (is_mx(t) && t.type.layout == ScaleLayout::linear) std::swap(columnwise[0], columnwise[1]);
  out.scale_rows = rowwise[0];
  out.scale_cols = rowwise[1];
  out.column_scale_rows = columnwise[0];
  out.column_scale_cols = columnwise[1];
  return out;
}

// Rows of tiles or squares that the shard has a part of.
std::int64_t shard_unit_rows(const WeightDescriptor& w, std::int64_t unit_rows) {
  if (w.begin == w.end) return 0;
  return (w.end - 1) / w.cols / unit_rows - w.member.row_begin / unit_rows + 1;
}

std::int64_t scale_units(std::int64_t rows, std::int64_t cols) {
  return ceil_div(rows, 16) * ceil_div(cols, kScaleUnitCols);
}

std::array<std::int64_t, kUnitKinds> units_of(const QuantizedTensor& weight,
                                              const WeightDescriptor& w) {
  const std::int64_t shard =
      shard_unit_rows(w, unit_rows(weight)) * ceil_div(w.row_codes, kShardUnitCols);
  const std::int64_t rowwise = scale_units(w.scale_rows, w.scale_cols);
  const std::int64_t columnwise = scale_units(w.column_scale_rows, w.column_scale_cols);
  if (is_mx(weight)) return {shard, rowwise + columnwise, 0, 0};
  // Where there is an amax to write there is a unit of NVFP4 scales, whose first one does it.
  return {shard, std::max<std::int64_t>(rowwise, weight.rowwise.amax == nullptr ? 0 : 1),
          ceil_div(w.member.rows, kTransposeUnit) * ceil_div(w.cols, kTransposeUnit),
          std::max<std::int64_t>(columnwise, 1)};
}

// Floats that a weight has in the array of all tiles: of its tiles, or of its blocks in both
// directions.
std::int64_t maxima_of(const QuantizedTensor& weight) {
  const std::int64_t rows = weight.rows(), cols = weight.cols();
  if (is_mx(weight)) return rows * ceil_div(cols, 32) + cols * ceil_div(rows, 32);
  return ceil_div(rows, 16) * ceil_div(cols, 16);
}

}  // namespace

Result<WeightTable> describe_weights(std::span<const ShardedWeight> weights) {
  WeightTable table;
  table.descriptors.reserve(weights.size());
  for (const ShardedWeight& weight : weights) {
    WeightDescriptor& out = table.descriptors.emplace_back(described(weight));
    out.first_tile = table.tiles;
    table.tiles += align_up(maxima_of(weight.weight), 4);
    const std::int64_t rows = unit_rows(weight.weight);
    const bool owns_all = shard_unit_rows(out, rows) == ceil_div(out.member.rows, rows) &&
                          maxima_of(weight.weight) % 4 == 0;
    table.owns_all_tiles = table.owns_all_tiles && owns_all;
    const auto units = units_of(weight.weight, out);
    for (std::size_t kind = 0; kind < kUnitKinds; ++kind) {
      out.unit_begin[kind] = static_cast<std::uint32_t>(table.units[kind]);
      table.units[kind] += units[kind];
      if (table.units[kind] > std::numeric_limits<std::int32_t>::max()) {
        return Error{ErrorCode::not_supported,
                     cat("the first ", table.descriptors.size(), " weights need ",
                         table.units[kind], " units of work, a launch numbers 2^31 - 1"),
                     "cast the weights in several calls"};
      }
    }
  }
  return table;
}

}  // namespace diecast
