// Where the members of a group lie in common buffers. One rule gives sizes and beginnings alike: a
// buffer's place for the rows of some members is its size for those rows, each member's padded.
#include <diecast/base/text.h>
#include <diecast/ops/quantized_group.h>

#include <algorithm>
#include <limits>

namespace diecast {
namespace {

// Rows of some members added up, each member's first padded to what the buffer counts in.
struct PaddedRows {
  std::int64_t plain = 0;
  std::int64_t rowwise_scale = 0;
  std::int64_t columnwise_data = 0;
  std::int64_t columnwise_scale = 0;
};

PaddedRows granules(const QuantizedTensor& whole) {
  return {1, scale_tile_rows(whole.layout), is_four_bit(whole.format) ? whole.block_cols : 1,
          std::int64_t{whole.block_cols} * scale_tile_cols(whole.layout)};
}

template <class Pad>
void add(PaddedRows& sum, const PaddedRows& granule, Pad padded) {
  sum.plain += padded(granule.plain);
  sum.rowwise_scale += padded(granule.rowwise_scale);
  sum.columnwise_data += padded(granule.columnwise_data);
  sum.columnwise_scale += padded(granule.columnwise_scale);
}

void add_member(PaddedRows& sum, const QuantizedGroup& group, std::int64_t index) {
  const std::int64_t rows = group.host_row_offsets[index + 1] - group.host_row_offsets[index];
  add(sum, granules(group.whole),
      [rows](std::int64_t granule) { return (rows + granule - 1) / granule * granule; });
}

// All members; with offsets that only the device knows, the most that any offsets need: every
// member that has rows may end in a padded tile.
PaddedRows all_rows(const QuantizedGroup& group) {
  PaddedRows sum;
  if (group.host_row_offsets != nullptr) {
    for (std::int64_t i = 0; i < group.count; ++i) add_member(sum, group, i);
    return sum;
  }
  const std::int64_t rows = group.whole.rows(), filled = std::min(group.count, rows);
  add(sum, granules(group.whole), [rows, filled](std::int64_t granule) {
    return (rows + filled * (granule - 1)) / granule * granule;
  });
  return sum;
}

Result<QuantizedSide> rowwise_extent(const QuantizedTensor& whole, const PaddedRows& rows,
                                     std::int64_t members) {
  QuantizedSide extent;
  DIECAST_TRY(extent.data_bytes,
              quantized_data_bytes(whole.format, rows.plain, whole.cols(), whole.block_cols));
  DIECAST_TRY(extent.scale_bytes, quantized_scale_bytes(whole.layout, rows.rowwise_scale,
                                                        whole.cols(), whole.block_cols));
  if (whole.format == Format::nvfp4) extent.amax_count = whole.row_scaled ? rows.plain : members;
  return extent;
}

Result<QuantizedSide> columnwise_extent(const QuantizedTensor& whole, const PaddedRows& rows,
                                        std::int64_t members) {
  QuantizedSide extent;
  DIECAST_TRY(extent.data_bytes, quantized_data_bytes(whole.format, whole.cols(),
                                                      rows.columnwise_data, whole.block_cols));
  DIECAST_TRY(extent.scale_bytes, quantized_scale_bytes(whole.layout, whole.cols(),
                                                        rows.columnwise_scale, whole.block_cols));
  if (whole.format == Format::nvfp4) {
    const auto count = checked_product(members, whole.row_scaled ? whole.cols() : 1);
    if (!count) {
      return Error{ErrorCode::shape_mismatch,
                   cat("the amax of ", members, " members with ", whole.cols(),
                       " columns need more entries than fit in 63 bits"),
                   "make smaller groups"};
    }
    extent.amax_count = *count;
  }
  return extent;
}

Result<void> check_host_offsets(const QuantizedGroup& group) {
  const std::int64_t* offsets = group.host_row_offsets;
  if (offsets[0] != 0) {
    return Error{ErrorCode::invalid_argument, cat("row offset 0 is ", offsets[0]),
                 "row offsets start at 0"};
  }
  for (std::int64_t i = 0; i < group.count; ++i) {
    if (offsets[i + 1] < offsets[i]) {
      return Error{ErrorCode::invalid_argument,
                   cat("row offset ", i + 1, " is ", offsets[i + 1], ", below the ", offsets[i],
                       " before it"),
                   "row offsets never descend; an empty member repeats one"};
    }
  }
  if (offsets[group.count] > group.whole.rows()) {
    return Error{ErrorCode::invalid_argument,
                 cat("the last row offset is ", offsets[group.count], ", the group has ",
                     group.whole.rows(), " rows"),
                 "the group's shape holds the rows of all members"};
  }
  return {};
}

// Shape, block, count and offsets: what sizes and beginnings are computed from without overflow.
Result<void> check_rows(const QuantizedGroup& group) {
  const auto sizes = group.whole.columnwise_sizes();
  if (!sizes) return sizes.error();
  if (group.count < 0) {
    return Error{ErrorCode::invalid_argument, cat("a group of ", group.count, " members"),
                 "count is 0 or more"};
  }
  constexpr std::int64_t most_padding = 128;  // no granule is larger
  const std::int64_t rows = group.whole.rows();
  if (rows > std::numeric_limits<std::int64_t>::max() / (most_padding + 1)) {
    return Error{ErrorCode::shape_mismatch,
                 cat("a group of ", rows, " rows has more than can be padded in 63 bits"),
                 "make smaller groups"};
  }
  if (group.host_row_offsets == nullptr && group.device_row_offsets == nullptr) {
    return Error{
        ErrorCode::missing_buffer, "the group has no row offsets",
        cat("set host_row_offsets or device_row_offsets to ", group.count + 1, " numbers")};
  }
  return group.host_row_offsets != nullptr ? check_host_offsets(group) : Result<void>();
}

Result<void> check_known_rows(const QuantizedGroup& group) {
  DIECAST_CHECK(check_rows(group));
  if (group.host_row_offsets == nullptr) {
    return Error{ErrorCode::not_supported,
                 "the row offsets are in device memory only, so the host cannot tell where a "
                 "member lies",
                 "set host_row_offsets, or fill the descriptors on the device"};
  }
  return {};
}

Result<void> check_buffers(const QuantizedGroup& group) {
  DIECAST_TRY(const QuantizedSide rowwise, group.rowwise_sizes());
  DIECAST_TRY(const QuantizedSide columnwise, group.columnwise_sizes());
  return group.whole.check_buffers(rowwise, columnwise);
}

std::uint64_t address(const void* base, std::int64_t offset) {
  if (base == nullptr) return 0;
  return reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uint64_t>(offset);
}

MemberSide described(const QuantizedSide& side, const QuantizedSide& begin) {
  if (!side.present()) return {};
  return {address(side.data, begin.data_bytes), address(side.scale, begin.scale_bytes),
          address(side.amax, begin.amax_count * std::int64_t{sizeof(float)}), begin.amax_count};
}

// A direction of one member: what begins at `begin` and has the sizes of `own`.
QuantizedSide part(const QuantizedSide& side, const QuantizedSide& begin, QuantizedSide own) {
  if (!side.present()) return {};
  own.data = reinterpret_cast<void*>(address(side.data, begin.data_bytes));
  own.scale = reinterpret_cast<void*>(address(side.scale, begin.scale_bytes));
  if (side.amax != nullptr) own.amax = side.amax + begin.amax_count;
  return own;
}

}  // namespace

Result<QuantizedSide> QuantizedGroup::rowwise_sizes() const {
  DIECAST_CHECK(check_rows(*this));
  auto sizes = rowwise_extent(whole, all_rows(*this), count);
  if (sizes && whole.row_scaled) sizes->amax_count = whole.rows();
  return sizes;
}

Result<QuantizedSide> QuantizedGroup::columnwise_sizes() const {
  DIECAST_CHECK(check_rows(*this));
  return columnwise_extent(whole, all_rows(*this), count);
}

Result<void> QuantizedGroup::check(std::string_view op) const {
  Result<void> checked = check_buffers(*this);
  if (checked && members == nullptr && count > 0) {
    checked = Error{ErrorCode::missing_buffer, "the descriptors are null",
                    cat("describe() the members and copy the ", count,
                        " descriptors to device "
                        "memory")};
  }
  if (checked) return {};
  Error error = checked.error();
  error.what = cat(op, ": group: ", error.what);
  return error;
}

Result<void> QuantizedGroup::describe(const Tensor* matrix, MemberDescriptor* out) const {
  DIECAST_CHECK(check_known_rows(*this));
  DIECAST_CHECK(check_buffers(*this));
  if (matrix != nullptr) {
    DIECAST_CHECK(matrix->check("matrix"));
    if (matrix->rows() != whole.rows() || matrix->cols() != whole.cols()) {
      return Error{ErrorCode::shape_mismatch,
                   cat("matrix is ", matrix->shape.text(), ", the group ", whole.shape.text()),
                   "the unquantized matrix has the group's rows and columns"};
    }
  }
  if (out == nullptr && count > 0) {
    return Error{
        ErrorCode::missing_buffer, "the array of descriptors is null",
        cat("pass room for ", count, " descriptors of ", sizeof(MemberDescriptor), " bytes")};
  }
  PaddedRows before;
  for (std::int64_t i = 0; i < count; ++i) {
    DIECAST_TRY(const QuantizedSide rowwise_begin, rowwise_extent(whole, before, i));
    DIECAST_TRY(const QuantizedSide columnwise_begin, columnwise_extent(whole, before, i));
    out[i] = MemberDescriptor{};
    out[i].row_begin = before.plain;
    out[i].rows = host_row_offsets[i + 1] - host_row_offsets[i];
    if (matrix != nullptr) {
      const std::int64_t row_bytes = matrix->stride() * (dtype_bits(matrix->dtype) / 8);
      out[i].matrix = address(matrix->data, before.plain * row_bytes);
      out[i].stride = matrix->stride();
    }
    out[i].rowwise = described(whole.rowwise, rowwise_begin);
    out[i].columnwise = described(whole.columnwise, columnwise_begin);
    add_member(before, *this, i);
  }
  return {};
}

Result<QuantizedTensor> QuantizedGroup::member(std::int64_t index) const {
  DIECAST_CHECK(check_known_rows(*this));
  DIECAST_CHECK(check_buffers(*this));
  if (index < 0 || index >= count) {
    return Error{ErrorCode::invalid_argument, cat("member ", index, " of a group of ", count),
                 "members count from 0"};
  }
  PaddedRows before;
  for (std::int64_t i = 0; i < index; ++i) add_member(before, *this, i);
  DIECAST_TRY(const QuantizedSide rowwise_begin, rowwise_extent(whole, before, index));
  DIECAST_TRY(const QuantizedSide columnwise_begin, columnwise_extent(whole, before, index));
  QuantizedTensor own = whole;
  own.shape = {host_row_offsets[index + 1] - host_row_offsets[index], whole.cols()};
  DIECAST_TRY(const QuantizedSide rowwise, own.rowwise_sizes());
  DIECAST_TRY(const QuantizedSide columnwise, own.columnwise_sizes());
  own.rowwise = part(whole.rowwise, rowwise_begin, rowwise);
  own.columnwise = part(whole.columnwise, columnwise_begin, columnwise);
  return own;
}

}  // namespace diecast
