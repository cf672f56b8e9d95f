// Sizes and checks of quantized matrices, in checked 64-bit arithmetic: a buffer that passes
// check() holds every byte a kernel reads or writes.
#include <diecast/base/text.h>
#include <diecast/ops/quantized_tensor.h>

#include <limits>
#include <string>

namespace diecast {
namespace {

std::optional<std::int64_t> checked_align_up(std::int64_t a, std::int64_t b) {
  return checked_product(ceil_div(a, b), b);
}
std::optional<std::int64_t> product(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return a && b ? checked_product(*a, *b) : std::nullopt;
}

Result<void> check_sizes(std::int64_t rows, std::int64_t cols, int block) {
  if (rows < 0 || cols < 0) {
    return Error{ErrorCode::invalid_argument,
                 cat("a quantized matrix of ", rows, " rows and ", cols, " columns"),
                 "rows and columns are 0 or more"};
  }
  if (block < 2 || block % 2 != 0) {
    return Error{ErrorCode::invalid_argument, cat("a block of ", block, " columns"),
                 "block = 16 for nvfp4, 32 for mx formats"};
  }
  return {};
}

Error beyond_63_bits(std::string_view what, std::int64_t rows, std::int64_t cols) {
  return {ErrorCode::shape_mismatch,
          cat("the ", what, " of [", rows, ", ", cols, "] need more bytes than fit in 63 bits"),
          "split the matrix into smaller ones"};
}

}  // namespace

Result<std::int64_t> quantized_data_bytes(Format format, std::int64_t rows, std::int64_t cols,
                                          int block) {
  DIECAST_CHECK(check_sizes(rows, cols, block));
  const auto elements = is_four_bit(format) ? checked_align_up(cols, block) : cols;
  const auto bytes =
      product(rows, is_four_bit(format) && elements ? std::optional(*elements / 2) : elements);
  if (!bytes) return beyond_63_bits("codes", rows, cols);
  return *bytes;
}

Result<std::int64_t> quantized_scale_bytes(ScaleLayout layout, std::int64_t rows, std::int64_t cols,
                                           int block) {
  DIECAST_CHECK(check_sizes(rows, cols, block));
  const auto bytes = product(checked_align_up(rows, scale_tile_rows(layout)),
                             checked_align_up(ceil_div(cols, block), scale_tile_cols(layout)));
  if (!bytes) return beyond_63_bits("block scales", rows, cols);
  return *bytes;
}

std::int64_t scale_offset(ScaleLayout layout, std::int64_t row, std::int64_t block,
                          std::int64_t blocks) {
  if (layout == ScaleLayout::linear) return row * blocks + block;
  const std::int64_t tiles = ceil_div(blocks, 4), tile = block / 4, column = block % 4;
  if (layout == ScaleLayout::s8x4) return (row / 8 * tiles + tile) * 32 + row % 8 * 4 + column;
  // s128x4: a tile's rows are four groups of 32 that lie side by side, four bytes each.
  const std::int64_t in_tile = row % 128;
  return (row / 128 * tiles + tile) * 512 + in_tile % 32 * 16 + in_tile / 32 * 4 + column;
}

namespace {

// The smallest buffers of one direction with `rows` rows and `cols` columns.
Result<QuantizedSide> side_sizes(const QuantizedTensor& tensor, std::int64_t rows,
                                 std::int64_t cols) {
  QuantizedSide sizes;
  DIECAST_TRY(sizes.data_bytes,
              quantized_data_bytes(tensor.type.format, rows, cols, tensor.type.block()));
  DIECAST_TRY(sizes.scale_bytes,
              quantized_scale_bytes(tensor.type.layout, rows, cols, tensor.type.block()));
  if (tensor.type.format == Format::nvfp4) sizes.amax_count = tensor.type.row_scaled ? rows : 1;
  return sizes;
}

Result<void> check_shape(const QuantizedTensor& tensor) {
  const auto elements = tensor.shape.elements();
  if (!elements) return elements.error();
  return tensor.type.check();
}

Error missing(std::string_view what, std::int64_t count, std::string_view unit) {
  return {ErrorCode::missing_buffer, cat("the ", what, " buffer is null"),
          cat("pass a buffer of ", count, " ", unit)};
}

Error too_small(const QuantizedTensor& tensor, std::string_view what, std::int64_t have,
                std::int64_t need) {
  return {ErrorCode::shape_mismatch,
          cat("the ", what, " buffer has ", have, " bytes, ", tensor.shape.text(), " ",
              word(tensor.type.format), " with ", word(tensor.type.layout), " scales needs ", need),
          cat("allocate ", need, " bytes")};
}

}  // namespace

Result<std::int64_t> scale_span_bytes(const QuantizedTensor& tensor, const QuantizedSide& side,
                                      std::int64_t rows, std::int64_t cols, std::int64_t dense) {
  if (side.scale_stride == 0 || dense == 0) return dense;
  if (tensor.type.layout != ScaleLayout::linear) {
    return Error{
        ErrorCode::not_supported,
        cat("scale_stride = ", side.scale_stride, " for ", word(tensor.type.layout), " scales"),
        "scale_stride = 0: tiles of scales lie one behind another"};
  }
  if (side.scale_stride < cols) {
    return Error{ErrorCode::shape_mismatch,
                 cat("scale_stride = ", side.scale_stride, " for ", cols, " scales a row"),
                 cat("scale_stride = ", cols, " or more, or 0 for dense rows")};
  }
  const auto before = checked_product(rows - 1, side.scale_stride);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (!before || *before > most - cols) {
    return beyond_63_bits("block scales", tensor.rows(), tensor.cols());
  }
  return *before + cols;
}

namespace {

// `side` has what `need` says; `direction` ("rowwise ") is the message's word for it. Called at
// every launch: texts are made for errors alone.
Result<void> check_side(const QuantizedTensor& tensor, const QuantizedSide& side,
                        const QuantizedSide& need, std::string_view direction) {
  if (!side.present()) return {};
  if (need.data_bytes > 0 && side.data == nullptr) {
    return missing(cat(direction, "data"), need.data_bytes, "bytes");
  }
  if (need.scale_bytes > 0 && side.scale == nullptr) {
    return missing(cat(direction, "scale"), need.scale_bytes, "bytes");
  }
  if (side.data_bytes < need.data_bytes) {
    return too_small(tensor, cat(direction, "data"), side.data_bytes, need.data_bytes);
  }
  if (side.scale_bytes < need.scale_bytes) {
    return too_small(tensor, cat(direction, "scale"), side.scale_bytes, need.scale_bytes);
  }
  if (tensor.type.format != Format::nvfp4) return {};
  if (side.amax_count != need.amax_count) {
    return Error{
        ErrorCode::shape_mismatch,
        cat("the ", direction, "amax has ", side.amax_count,
            " entries where row_scaled = ", tensor.type.row_scaled, " needs ", need.amax_count),
        cat("amax_count = ", need.amax_count, ", or row_scaled = ", !tensor.type.row_scaled)};
  }
  if (need.amax_count > 0 && side.amax == nullptr) {
    return missing(cat(direction, "amax"), need.amax_count, "floats");
  }
  return {};
}

// A direction that is there: its sizes, the distance of its scales' rows, its buffers.
Result<void> check_direction(const QuantizedTensor& tensor, bool of_columns) {
  const QuantizedSide& side = tensor.side(of_columns);
  if (!side.present()) return {};
  const std::int64_t rows = of_columns ? tensor.cols() : tensor.rows();
  const std::int64_t cols = of_columns ? tensor.rows() : tensor.cols();
  DIECAST_TRY(QuantizedSide need, side_sizes(tensor, rows, cols));
  // Columnwise FP8's scales lie as its data does, in the order of rows.
  const bool in_order = of_columns && !is_four_bit(tensor.type.format);
  const std::int64_t blocks = ceil_div(cols, tensor.type.block());
  DIECAST_TRY(need.scale_bytes, scale_span_bytes(tensor, side, in_order ? blocks : rows,
                                                 in_order ? rows : blocks, need.scale_bytes));
  return check_side(tensor, side, need, of_columns ? "columnwise " : "rowwise ");
}

Result<void> check_tensor(const QuantizedTensor& tensor) {
  DIECAST_CHECK(check_shape(tensor));
  if (!tensor.rowwise.present() && !tensor.columnwise.present()) {
    DIECAST_TRY(const QuantizedSide need, side_sizes(tensor, tensor.rows(), tensor.cols()));
    if (need.data_bytes == 0) return {};
    return Error{ErrorCode::missing_buffer, "it has neither rowwise nor columnwise buffers",
                 "set the data, scale and amax of rowwise, of columnwise, or of both"};
  }
  DIECAST_CHECK(check_direction(tensor, false));
  return check_direction(tensor, true);
}

// "quantize_nvfp4: out: " before what an error says.
Error named(std::string_view op, std::string_view operand, Error error) {
  error.what = cat(op, ": ", operand, ": ", error.what);
  return error;
}

}  // namespace

Result<QuantizedSide> QuantizedTensor::rowwise_sizes() const {
  DIECAST_CHECK(check_shape(*this));
  return side_sizes(*this, rows(), cols());
}

Result<QuantizedSide> QuantizedTensor::columnwise_sizes() const {
  DIECAST_CHECK(check_shape(*this));
  return side_sizes(*this, cols(), rows());
}

Result<void> QuantizedTensor::check_buffers(const QuantizedSide& rowwise_need,
                                            const QuantizedSide& columnwise_need) const {
  DIECAST_CHECK(check_side(*this, rowwise, rowwise_need, "rowwise "));
  return check_side(*this, columnwise, columnwise_need, "columnwise ");
}

Result<void> QuantizedTensor::check_read(std::string_view op, bool of_columns,
                                         const Tensor& out) const {
  DIECAST_CHECK(check(op, "x"));
  if (!side(of_columns).present() && side(!of_columns).present()) {
    return Error{ErrorCode::not_supported,
                 cat(op, ": prepared for columnwise = ", of_columns, ", x is ",
                     of_columns ? "rowwise" : "columnwise", " only"),
                 cat("prepare with columnwise = ", !of_columns)};
  }
  if (rows() != out.rows() || cols() != out.cols()) {
    return Error{ErrorCode::shape_mismatch,
                 cat(op, ": x is ", shape.text(), ", out is ", out.shape.text()),
                 cat("pass out with shape ", shape.text())};
  }
  return {};
}

Result<void> QuantizedTensor::check_any(std::string_view op, std::string_view operand) const {
  auto checked = check_tensor(*this);
  return checked ? Result<void>() : named(op, operand, std::move(checked).error());
}

Result<void> QuantizedTensor::refuse_row_scaled(std::string_view op,
                                                std::string_view operand) const {
  if (!type.row_scaled) return {};
  return named(op, operand,
               {ErrorCode::not_supported,
                cat("it is row-scaled (one amax a row), which ", op, " does not take"),
                cat("quantize ", operand, " with one amax for the whole tensor")});
}

}  // namespace diecast
