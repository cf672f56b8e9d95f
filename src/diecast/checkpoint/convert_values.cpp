// Rows that lie one after another are read as they are. Those of a transposed matrix are gathered
// from panels of its stored rows, each of which lies in one stretch of the file.
#include <diecast/checkpoint/convert_values.h>

#include <cstring>

namespace diecast {
namespace {

// Which row and column of the weight a piece begins at.
struct Corner {
  std::uint64_t row = 0, col = 0;
};
Corner corner_of(const PlannedTensor& tensor, const Piece& piece) {
  return {piece.first / tensor.matrices.cols, piece.first % tensor.matrices.cols};
}

std::uint64_t element_of(const Placement& place, std::uint64_t row, std::uint64_t col) {
  return place.first + row * place.row_step + col * place.col_step;
}

Result<void> read_rows(ConvertStream& stream, const TensorInfo& source, const Placement& place,
                       const Corner& from, const Piece& piece, std::uint64_t width, Bytes& out) {
  if (piece.cols == place.row_step || piece.rows == 1) {
    return stream.read(source, element_of(place, from.row, from.col) * width,
                       piece.elements() * width, out);
  }
  out.resize(piece.elements() * width);
  Bytes row;
  for (std::uint64_t r = 0; r < piece.rows; ++r) {
    DIECAST_CHECK(stream.read(source, element_of(place, from.row + r, from.col) * width,
                              piece.cols * width, row));
    std::memcpy(out.data() + r * row.size(), row.data(), row.size());
  }
  return {};
}

// Panels of kScaleBlock stored rows: a whole block of every row of the piece.
Result<void> read_columns(ConvertStream& stream, const TensorInfo& source, const Placement& place,
                          const Corner& from, const Piece& piece, std::uint64_t width, Bytes& out) {
  out.resize(piece.elements() * width);
  Bytes panel;
  for (std::uint64_t col = 0; col < piece.cols; col += kScaleBlock) {
    const std::uint64_t count = std::min(kScaleBlock, piece.cols - col);
    const std::uint64_t extent =
        (piece.rows - 1) * place.row_step + (count - 1) * place.col_step + 1;
    DIECAST_CHECK(stream.read(source, element_of(place, from.row, from.col + col) * width,
                              extent * width, panel));
    for (std::uint64_t r = 0; r < piece.rows; ++r) {
      for (std::uint64_t c = 0; c < count; ++c) {
        std::memcpy(out.data() + (r * piece.cols + col + c) * width,
                    panel.data() + (r * place.row_step + c * place.col_step) * width, width);
      }
    }
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
                         Bytes& out) {
  if (tensor.scaled) return read_scaled(stream, tensor, piece, out);
  DIECAST_TRY(const TensorInfo* source, stream.source(tensor.stored_in()));
  const std::uint64_t width = width_of(tensor);
  if (!tensor.place)
    return stream.read(*source, piece.first * width, piece.elements() * width, out);
  const Corner from = corner_of(tensor, piece);
  return tensor.place->col_step == 1
             ? read_rows(stream, *source, *tensor.place, from, piece, width, out)
             : read_columns(stream, *source, *tensor.place, from, piece, width, out);
}

Result<void> write_values(ConvertStream& stream, const PlannedTensor& tensor, const Piece& piece,
                          std::uint64_t width, ByteSpan values) {
  if (!tensor.place) return stream.write(tensor.file, tensor.name, piece.first * width, values);
  const Placement& place = *tensor.place;
  const Corner from = corner_of(tensor, piece);
  if (place.col_step == 1 && piece.cols == place.row_step)
    return stream.write(tensor.file, place.tensor, element_of(place, from.row, 0) * width, values);
  // Stored rows are the piece's columns, or its rows in stretches.
  const bool transposed = place.col_step != 1;
  const std::uint64_t lines = transposed ? piece.cols : piece.rows;
  const std::uint64_t length = transposed ? piece.rows : piece.cols;
  Bytes line(length * width);
  for (std::uint64_t i = 0; i < lines; ++i) {
    for (std::uint64_t k = 0; k < length; ++k) {
      const std::uint64_t at = transposed ? k * piece.cols + i : i * piece.cols + k;
      std::memcpy(line.data() + k * width, values.data() + at * width, width);
    }
    const std::uint64_t to = transposed ? element_of(place, from.row, from.col + i)
                                        : element_of(place, from.row + i, from.col);
    DIECAST_CHECK(stream.write(tensor.file, place.tensor, to * width, line));
  }
  return {};
}

}  // namespace diecast
