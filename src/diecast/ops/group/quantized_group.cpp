// What a group must be to be worked on, and its members one by one.
#include <diecast/base/text.h>
#include <diecast/ops/group/group_layout.h>
#include <diecast/ops/group/quantized_group.h>

#include <limits>

namespace diecast {
namespace {

Result<void> check_host_counts(const QuantizedGroup& group) {
  const std::int64_t* offsets = group.host_row_offsets;
  for (std::int64_t i = 0; i < group.count; ++i) {
    const std::int64_t rows = offsets[i + 1] - offsets[i];
    if (group.host_row_counts[i] >= 0 && group.host_row_counts[i] <= rows) continue;
    return Error{
        ErrorCode::invalid_argument,
        cat("row count ", i, " is ", group.host_row_counts[i], ", the member has ", rows, " rows"),
        "a row count is 0 or more and at most the rows between the member's offsets"};
  }
  return {};
}

// Of member i, known to the host.
std::int64_t real_rows(const QuantizedGroup& group, std::int64_t i) {
  if (group.host_row_counts != nullptr) return group.host_row_counts[i];
  return group.host_row_offsets[i + 1] - group.host_row_offsets[i];
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
  if (group.host_row_counts != nullptr) DIECAST_CHECK(check_host_counts(group));
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
  if (group.device_row_counts != nullptr && group.host_row_counts == nullptr) {
    return Error{
        ErrorCode::not_supported,
        "the row counts are in device memory only, so the host cannot tell how many rows a "
        "member has",
        "set host_row_counts, or fill the descriptors on the device"};
  }
  return {};
}

Result<void> check_buffers(const QuantizedGroup& group) {
  const QuantizedTensor& whole = group.whole;
  DIECAST_TRY(QuantizedSide rowwise, group.rowwise_sizes());
  DIECAST_TRY(QuantizedSide columnwise, group.columnwise_sizes());
  const PaddedRows rows = all_rows(group);
  const int block = whole.type.block();
  DIECAST_TRY(rowwise.scale_bytes,
              scale_span_bytes(whole, whole.rowwise, rows.rowwise_scale,
                               ceil_div(whole.cols(), block), rowwise.scale_bytes));
  const bool in_order = !is_four_bit(whole.type.format);  // as of one tensor
  const std::int64_t lines = capped_product(rows.members, whole.cols());
  DIECAST_TRY(columnwise.scale_bytes,
              scale_span_bytes(
                  whole, whole.columnwise, in_order ? rows.columnwise_scale / block : lines,
                  in_order ? whole.cols() : ceil_div(rows.most, block), columnwise.scale_bytes));
  return whole.check_buffers(rowwise, columnwise);
}

// A direction of one member: what begins at `begin` and has the sizes of `own`.
QuantizedSide part(const QuantizedSide& side, const QuantizedSide& begin, QuantizedSide own) {
  if (!side.present() && side.amax == nullptr) return {};
  own.data = reinterpret_cast<void*>(address_at(side.data, begin.data_bytes));
  own.scale = reinterpret_cast<void*>(address_at(side.scale, begin.scale_bytes));
  if (side.amax != nullptr) own.amax = side.amax + begin.amax_count;
  own.scale_stride = side.scale_stride;
  return own;
}

}  // namespace

Result<QuantizedSide> QuantizedGroup::rowwise_sizes() const {
  DIECAST_CHECK(check_rows(*this));
  auto sizes = rowwise_extent(whole, all_rows(*this));
  if (sizes && whole.type.row_scaled) sizes->amax_count = whole.rows();
  return sizes;
}

Result<QuantizedSide> QuantizedGroup::columnwise_sizes() const {
  DIECAST_CHECK(check_rows(*this));
  return columnwise_extent(whole, all_rows(*this));
}

Result<void> QuantizedGroup::check(std::string_view op) const {
  Result<void> checked = check_buffers(*this);
  if (checked && members == nullptr && count > 0) {
    checked = Error{ErrorCode::missing_buffer, "the descriptors are null",
                    cat("pass device memory for the ", count, " descriptors of ",
                        sizeof(MemberDescriptor), " bytes that describe() or the op makes")};
  }
  if (checked) return {};
  Error error = checked.error();
  error.what = cat(op, ": group: ", error.what);
  return error;
}

Result<void> QuantizedGroup::check_matrix(std::string_view op, const Tensor& x) const {
  if (x.rows() != whole.rows() || x.cols() != whole.cols()) {
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": x is ", x.shape.text(), ", the group ", whole.shape.text()),
                 cat("describe the group with shape ", x.shape.text())};
  }
  if (x.device_rows != nullptr) {
    return Error{ErrorCode::not_supported, cat(op, ": x has a row count in device memory"),
                 "leave x.device_rows null: the last row offset says how many rows count"};
  }
  return {};
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
  if (out == nullptr && count > 0) return no_room_for_descriptors(count);
  PaddedRows before;
  for (std::int64_t i = 0; i < count; ++i) {
    DIECAST_TRY(const MemberBegin begin, begin_behind(whole, before));
    out[i] = MemberDescriptor{};
    out[i].row_begin = before.plain;
    out[i].rows = real_rows(*this, i);
    if (matrix != nullptr) {
      // Unsigned, because of one row nobody has asked how far the next would be.
      const auto row_bytes = static_cast<std::uint64_t>(matrix->stride()) *
                             static_cast<std::uint64_t>(dtype_bits(matrix->dtype) / 8);
      const std::uint64_t offset = static_cast<std::uint64_t>(before.plain) * row_bytes;
      out[i].matrix = address_at(matrix->data, static_cast<std::int64_t>(offset));
      out[i].stride = matrix->stride();
    }
    place_sides(out[i], whole, begin);
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
  DIECAST_TRY(const MemberBegin begin, begin_behind(whole, before));
  QuantizedTensor own = whole;
  own.shape = {real_rows(*this, index), whole.cols()};
  DIECAST_TRY(QuantizedSide rowwise, own.rowwise_sizes());
  DIECAST_TRY(QuantizedSide columnwise, own.columnwise_sizes());
  const bool in_order = !is_four_bit(whole.type.format);  // columnwise scales are
  const std::int64_t row_blocks = ceil_div(own.rows(), own.type.block());
  DIECAST_TRY(rowwise.scale_bytes,
              scale_span_bytes(own, whole.rowwise, own.rows(),
                               ceil_div(own.cols(), own.type.block()), rowwise.scale_bytes));
  DIECAST_TRY(columnwise.scale_bytes,
              scale_span_bytes(own, whole.columnwise, in_order ? row_blocks : own.cols(),
                               in_order ? own.cols() : row_blocks, columnwise.scale_bytes));
  own.rowwise = part(whole.rowwise, begin.rowwise, rowwise);
  own.columnwise = part(whole.columnwise, begin.columnwise, columnwise);
  return own;
}

}  // namespace diecast
