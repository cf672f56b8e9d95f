// Rows that lie one after another are read as they are. Those of a transposed matrix are gathered
// from panels of its stored rows, each of which lies in one stretch of the file.
#include <diecast/checkpoint/convert_values.h>

#include <cstring>

namespace diecast {
namespace {

// A piece in units of `width` bytes: values, or bytes that hold several codes. Where it begins in
// the tensor that holds it, and the steps there from row to row and from unit to unit.
struct Area {
  std::uint64_t first = 0, row_step = 0, col_step = 1;
  std::uint64_t rows = 0, cols = 0, width = 1;
  std::uint64_t bytes() const { return rows * cols * width; }
};

Area area_of(const PlannedTensor& tensor, const Placement& place, const Piece& piece,
             std::uint64_t width) {
  const std::uint64_t row = piece.first / tensor.matrices.cols,
                      col = piece.first % tensor.matrices.cols;
  const std::uint64_t matrix = row / tensor.matrices.rows, inside = row % tensor.matrices.rows;
  return {place.first + matrix * place.matrix_step + inside * place.row_step + col * place.col_step,
          place.row_step,
          place.col_step,
          piece.rows,
          piece.cols,
          width};
}

// The same of codes or scales, `each` values to a byte, of all experts in one tensor.
Area fused_area(const PlannedTensor& tensor, const Piece& piece, std::uint64_t each) {
  const auto& [matrices, rows, cols] = tensor.matrices;
  const std::uint64_t row = piece.first / cols, col = piece.first % cols / each;
  const std::uint64_t first = row / rows * rows * (cols / each) + row % rows + col * rows;
  return {first, 1, rows, piece.rows, piece.cols / each, 1};
}

Result<void> read_rows(ConvertStream& stream, const TensorInfo& source, const Area& area,
                       std::span<std::byte> out) {
  if (area.cols == area.row_step || area.rows == 1)
    return stream.read(source, area.first * area.width, out);
  const std::uint64_t length = area.cols * area.width;
  for (std::uint64_t r = 0; r < area.rows; ++r) {
    DIECAST_CHECK(stream.read(source, (area.first + r * area.row_step) * area.width,
                              out.subspan(r * length, length)));
  }
  return {};
}

// Panels of kScaleBlock stored rows: a whole block of every row of the piece.
Result<void> read_columns(ConvertStream& stream, const TensorInfo& source, const Area& area,
                          std::span<std::byte> out) {
  const std::uint64_t width = area.width;
  Bytes panel;
  for (std::uint64_t col = 0; col < area.cols; col += kScaleBlock) {
    const std::uint64_t count = std::min(kScaleBlock, area.cols - col);
    const std::uint64_t extent = (area.rows - 1) * area.row_step + (count - 1) * area.col_step + 1;
    panel.resize(extent * width);
    DIECAST_CHECK(stream.read(source, (area.first + col * area.col_step) * width, panel));
    for (std::uint64_t r = 0; r < area.rows; ++r) {
      for (std::uint64_t c = 0; c < count; ++c) {
        std::memcpy(out.data() + (r * area.cols + col + c) * width,
                    panel.data() + (r * area.row_step + c * area.col_step) * width, width);
      }
    }
  }
  return {};
}

// Stored rows are the piece's columns, or its rows in stretches.
Result<void> write_area(ConvertStream& stream, std::uint32_t file, const std::string& name,
                        const Area& area, ByteSpan values) {
  const std::uint64_t width = area.width;
  const bool transposed = area.col_step != 1;
  if (!transposed && area.cols == area.row_step)
    return stream.write(file, name, area.first * width, values);
  const std::uint64_t lines = transposed ? area.cols : area.rows;
  const std::uint64_t length = transposed ? area.rows : area.cols;
  const std::uint64_t step = transposed ? area.col_step : area.row_step;
  Bytes line(length * width);
  for (std::uint64_t i = 0; i < lines; ++i) {
    for (std::uint64_t k = 0; k < length; ++k) {
      const std::uint64_t at = transposed ? k * area.cols + i : i * area.cols + k;
      std::memcpy(line.data() + k * width, values.data() + at * width, width);
    }
    DIECAST_CHECK(stream.write(file, name, (area.first + i * step) * width, line));
  }
  return {};
}

}  // namespace

DType type_of(const PlannedTensor& tensor) {
  return tensor.scaled ? DType::f32 : *float_dtype(tensor.dtype);
}

std::uint64_t width_of(const PlannedTensor& tensor) {
  return static_cast<std::uint64_t>(dtype_bits(type_of(tensor)) / 8);
}

Result<void> read_values(ConvertStream& stream, const PlannedTensor& tensor, const Piece& piece,
                         std::span<std::byte> out) {
  if (tensor.scaled) return read_scaled(stream, tensor, piece, out);
  DIECAST_TRY(const TensorInfo* source, stream.source(tensor.stored_in()));
  const std::uint64_t width = width_of(tensor);
  if (!tensor.place) return stream.read(*source, piece.first * width, out);
  const Area area = area_of(tensor, *tensor.place, piece, width);
  return area.col_step == 1 ? read_rows(stream, *source, area, out)
                            : read_columns(stream, *source, area, out);
}

Result<void> write_values(ConvertStream& stream, const PlannedTensor& tensor, const Piece& piece,
                          std::uint64_t width, ByteSpan values) {
  if (!tensor.place) return stream.write(tensor.file, tensor.name, piece.first * width, values);
  return write_area(stream, tensor.file, tensor.place->tensor,
                    area_of(tensor, *tensor.place, piece, width), values);
}

Result<void> read_codes(ConvertStream& stream, const PlannedTensor& tensor,
                        const TensorInfo& source, const Piece& piece, std::uint64_t each,
                        std::span<std::byte> out) {
  if (tensor.fused) return read_columns(stream, source, fused_area(tensor, piece, each), out);
  return stream.read(source, piece.first / each, out);
}

// Tiles that lie side by side hold the same rows: bands of them are read whole.
Result<void> read_tiled_scales(ConvertStream& stream, const PlannedTensor& tensor,
                               const TensorInfo& source, const Piece& piece,
                               std::span<std::byte> out) {
  const ScaleLayout layout = tensor.layout.scales;
  const std::uint64_t cols = tensor.matrices.cols, blocks = source.shape[1];
  const auto tile = static_cast<std::uint64_t>(scale_tile_rows(layout));
  const std::uint64_t band = tile * blocks, row = piece.first / cols;
  const std::uint64_t first = row / tile, last = (row + piece.rows - 1) / tile;
  const std::uint64_t col = piece.first % cols / kScaleBlock, count = piece.cols / kScaleBlock;
  Bytes bands((last - first + 1) * band);
  DIECAST_CHECK(stream.read(source, first * band, bands));
  for (std::uint64_t r = 0; r < piece.rows; ++r)
    for (std::uint64_t c = 0; c < count; ++c)
      out[r * count + c] = bands[static_cast<std::size_t>(
          scale_offset(layout, static_cast<std::int64_t>(row + r - first * tile),
                       static_cast<std::int64_t>(col + c), static_cast<std::int64_t>(blocks)))];
  return {};
}

void swap_nibbles(std::span<std::byte> codes) {
  for (std::byte& pair : codes) pair = pair << 4 | pair >> 4;
}

Result<void> write_codes(ConvertStream& stream, const PlannedTensor& tensor,
                         const std::string& name, const Piece& piece, std::uint64_t each,
                         ByteSpan bytes) {
  if (tensor.fused)
    return write_area(stream, tensor.file, name, fused_area(tensor, piece, each), bytes);
  return stream.write(tensor.file, name, piece.first / each, bytes);
}

}  // namespace diecast
