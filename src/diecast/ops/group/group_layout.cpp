// Sizes and places in the common buffers of a group; see group_layout.h.
#include <diecast/base/text.h>
#include <diecast/ops/group/group_layout.h>

#include <algorithm>

namespace diecast {
namespace {

PaddedRows granules(const QuantizedType& type) {
  PaddedRows out;
  out.plain = 1;
  out.rowwise_scale = scale_tile_rows(type.layout);
  out.columnwise_data = is_four_bit(type.format) ? type.block() : 1;
  out.columnwise_scale = std::int64_t{type.block()} * scale_tile_cols(type.layout);
  return out;
}

template <class Pad>
void add(PaddedRows& sum, const PaddedRows& granule, Pad padded) {
  sum.plain += padded(granule.plain);
  sum.rowwise_scale += padded(granule.rowwise_scale);
  sum.columnwise_data += padded(granule.columnwise_data);
  sum.columnwise_scale += padded(granule.columnwise_scale);
}

// `dense`: scales of a row that has no others behind it. A side may be its amax alone.
MemberSide side_at(const QuantizedTensor& tensor, const QuantizedSide& side,
                   const QuantizedSide& begin, std::int64_t dense) {
  const std::int64_t stride = side.scale_stride == 0 ? dense : side.scale_stride;
  return {address_at(side.data, begin.data_bytes), address_at(side.scale, begin.scale_bytes),
          address_at(side.amax, begin.amax_count * std::int64_t{sizeof(float)}),
          side.present() && tensor.type.layout == ScaleLayout::linear ? stride : 0};
}

}  // namespace

void add_member(PaddedRows& sum, const QuantizedGroup& group, std::int64_t index) {
  const std::int64_t rows = group.host_row_offsets[index + 1] - group.host_row_offsets[index];
  sum.members += 1;
  sum.most = std::max(sum.most, rows);
  add(sum, granules(group.whole.type),
      [rows](std::int64_t granule) { return (rows + granule - 1) / granule * granule; });
}

PaddedRows all_rows(const QuantizedGroup& group) {
  PaddedRows sum;
  if (group.host_row_offsets != nullptr) {
    for (std::int64_t i = 0; i < group.count; ++i) add_member(sum, group, i);
    return sum;
  }
  const std::int64_t rows = group.whole.rows(), filled = std::min(group.count, rows);
  sum.members = group.count;
  sum.most = rows;
  add(sum, granules(group.whole.type), [rows, filled](std::int64_t granule) {
    return (rows + filled * (granule - 1)) / granule * granule;
  });
  return sum;
}

Result<QuantizedSide> rowwise_extent(const QuantizedTensor& whole, const PaddedRows& rows) {
  const QuantizedType& type = whole.type;
  QuantizedSide extent;
  DIECAST_TRY(extent.data_bytes,
              quantized_data_bytes(type.format, rows.plain, whole.cols(), type.block()));
  DIECAST_TRY(extent.scale_bytes,
              quantized_scale_bytes(type.layout, rows.rowwise_scale, whole.cols(), type.block()));
  if (type.format != Format::nvfp4) return extent;
  extent.amax_count = type.row_scaled ? rows.plain : rows.members;
  return extent;
}

Result<QuantizedSide> columnwise_extent(const QuantizedTensor& whole, const PaddedRows& rows) {
  const QuantizedType& type = whole.type;
  QuantizedSide extent;
  DIECAST_TRY(extent.data_bytes,
              quantized_data_bytes(type.format, whole.cols(), rows.columnwise_data, type.block()));
  DIECAST_TRY(extent.scale_bytes, quantized_scale_bytes(type.layout, whole.cols(),
                                                        rows.columnwise_scale, type.block()));
  if (type.format == Format::nvfp4) {
    const auto count = checked_product(rows.members, type.row_scaled ? whole.cols() : 1);
    if (!count) {
      return Error{ErrorCode::shape_mismatch,
                   cat("the amax of ", rows.members, " members with ", whole.cols(),
                       " columns need more entries than fit in 63 bits"),
                   "make smaller groups"};
    }
    extent.amax_count = *count;
  }
  return extent;
}

Result<MemberBegin> begin_behind(const QuantizedTensor& whole, const PaddedRows& before) {
  MemberBegin out;
  DIECAST_TRY(out.rowwise, rowwise_extent(whole, before));
  DIECAST_TRY(out.columnwise, columnwise_extent(whole, before));
  // Unsigned, because without scales nobody has checked that the products fit.
  const auto lines = [](std::int64_t count, std::int64_t stride) {
    return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(stride);
  };
  if (const std::int64_t stride = whole.rowwise.scale_stride; stride != 0) {
    out.rowwise.scale_bytes = static_cast<std::int64_t>(lines(before.plain, stride));
  }
  if (const std::int64_t stride = whole.columnwise.scale_stride; stride != 0) {
    const auto cols = static_cast<std::int64_t>(lines(before.members, whole.cols()));
    const std::int64_t blocks = before.columnwise_scale / whole.type.block();
    out.columnwise.scale_bytes =
        static_cast<std::int64_t>(lines(is_four_bit(whole.type.format) ? cols : blocks, stride));
  }
  return out;
}

std::uint64_t address_at(const void* base, std::int64_t offset) {
  if (base == nullptr) return 0;
  return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uint64_t>(offset);
}

void place_sides(MemberDescriptor& member, const QuantizedTensor& tensor,
                 const MemberBegin& begin) {
  const int block = tensor.type.block();
  member.rowwise = side_at(tensor, tensor.rowwise, begin.rowwise, ceil_div(tensor.cols(), block));
  member.columnwise =
      side_at(tensor, tensor.columnwise, begin.columnwise,
              is_four_bit(tensor.type.format) ? ceil_div(member.rows, block) : tensor.cols());
}

Error no_room_for_descriptors(std::int64_t count) {
  return {ErrorCode::missing_buffer, "the array of descriptors is null",
          cat("pass room for ", count, " descriptors of ", sizeof(MemberDescriptor), " bytes")};
}

}  // namespace diecast
