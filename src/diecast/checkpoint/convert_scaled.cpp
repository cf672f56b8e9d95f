// Codes times their scales; see convert_values.h.
#include <diecast/checkpoint/convert_values.h>
#include <diecast/checkpoint/floats.h>
#include <diecast/checkpoint/plan_outputs.h>
#include <diecast/ops/reference/numbers.h>

#include <array>
#include <cmath>
#include <cstring>

namespace diecast {
namespace {

const std::array<float, 256>& e4m3_values() {
  static const auto& values = *new const auto([] {
    std::array<float, 256> out;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = reference::decode_e4m3(static_cast<std::uint8_t>(i));
    return out;
  }());
  return values;
}

// Of two codes in a byte the first has the low bits; so do the eight of a word of INT4.
float code_value(CodeForm kind, const Bytes& bytes, std::uint64_t at) {
  if (kind == CodeForm::fp8) return e4m3_values()[std::to_integer<std::size_t>(bytes[at])];
  const auto pair = std::to_integer<std::uint8_t>(bytes[at / 2]);
  const auto code = static_cast<std::uint8_t>(at % 2 == 0 ? pair & 15 : pair >> 4);
  return kind == CodeForm::int4 ? static_cast<float>(code - 8) : reference::decode_e2m1(code);
}

Error bad_scale(ErrorCode code, const TensorInfo& scales, std::uint64_t at, std::string_view why) {
  return {code, cat("scale ", at, " of ", quote(scales.name), why),
          "write or download the checkpoint again"};
}

// `count` scales from `first` on. Tools make negative ones of integers, of nothing else.
Result<std::vector<float>> read_scales(ConvertStream& stream, const TensorInfo& scales,
                                       CodeForm kind, std::uint64_t first, std::uint64_t count) {
  const auto width = static_cast<std::uint64_t>(stored_dtype_bits(scales.dtype) / 8);
  Bytes bytes(count * width);
  DIECAST_CHECK(stream.read(scales, first * width, bytes));
  std::vector<float> out(count);
  if (const auto type = float_dtype(scales.dtype)) {
    widen(bytes, *type, out);
  } else if (scales.dtype == StoredDType::f8_e4m3) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = e4m3_values()[std::to_integer<std::size_t>(bytes[i])];
  } else {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = reference::decode_e8m0(std::to_integer<std::uint8_t>(bytes[i]));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i]) && !stream.plan().allow_nonfinite)
      return bad_scale(ErrorCode::nonfinite_values, scales, first + i, " is not finite");
    if (out[i] < 0 && kind == CodeForm::fp8)
      return bad_scale(ErrorCode::file_corrupt, scales, first + i, " is negative");
  }
  return out;
}

// Numbers of the output's type, rounded to the nearest.
void narrow(ByteSpan floats, DType to, Bytes& out) {
  const std::size_t count = floats.size() / sizeof(float);
  out.resize(count * static_cast<std::size_t>(dtype_bits(to) / 8));
  for (std::size_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, floats.data() + i * sizeof value, sizeof value);
    if (to == DType::f32) {
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    } else {
      const std::uint16_t half =
          to == DType::bf16 ? reference::encode_bf16(value) : reference::encode_f16(value);
      std::memcpy(out.data() + i * sizeof half, &half, sizeof half);
    }
  }
}

}  // namespace

Result<float> read_global(ConvertStream& stream, const std::string& name) {
  DIECAST_TRY(const TensorInfo* source, stream.source(name));
  DIECAST_TRY(const std::vector<float> value, read_scales(stream, *source, CodeForm::nvfp4, 0, 1));
  const bool reciprocal = name.ends_with(kGlobalPart) || name.ends_with(kInputGlobalPart);
  const float out = reciprocal ? 1.0f / value[0] : value[0];
  if (out > 0 && std::isfinite(out)) return out;
  return Error{ErrorCode::nonfinite_values,
               cat(quote(name), " is ", value[0], ", which is no scale"),
               "write or download the checkpoint again"};
}

Result<void> read_scaled(ConvertStream& stream, const PlannedTensor& tensor, const Piece& piece,
                         std::span<std::byte> out) {
  DIECAST_TRY(const TensorInfo* source, stream.source(tensor.scaled->codes));
  DIECAST_TRY(const TensorInfo* scales, stream.source(tensor.scaled->scales));
  const std::uint64_t block_rows = tensor.scaled->block_rows,
                      block_cols = tensor.scaled->block_cols;
  const std::uint64_t cols = tensor.matrices.cols, grid = (cols - 1) / block_cols + 1;
  const std::uint64_t row = piece.first / cols, col = piece.first % cols;
  const std::uint64_t first = row / block_rows, last = (row + piece.rows - 1) / block_rows;
  const std::uint64_t each = tensor.scaled->kind == CodeForm::fp8 ? 1 : 2;  // elements a byte
  Bytes bytes(piece.elements() / each);
  DIECAST_CHECK(stream.read(*source, piece.first / each, bytes));
  DIECAST_TRY(
      const std::vector<float> factors,
      read_scales(stream, *scales, tensor.scaled->kind, first * grid, (last - first + 1) * grid));
  float global = 1.0f;
  if (!tensor.scaled->global.empty()) {
    DIECAST_TRY(global, read_global(stream, tensor.scaled->global));
  }
  // A tensor of scales that was never filled. NVFP4 has such blocks of values that are too small.
  const bool no_zeros = tensor.scaled->kind != CodeForm::nvfp4;
  for (std::uint64_t r = 0; r < piece.rows; ++r) {
    const std::uint64_t of_row = ((row + r) / block_rows - first) * grid;
    for (std::uint64_t c = 0; c < piece.cols; ++c) {
      const std::uint64_t at = r * piece.cols + c, block = of_row + (col + c) / block_cols;
      const float code = code_value(tensor.scaled->kind, bytes, at);
      if (no_zeros && factors[block] == 0 && code != 0)
        return bad_scale(ErrorCode::file_corrupt, *scales, first * grid + block,
                         " is zero, and values under it are not");
      const float value = code * factors[block] * global;
      std::memcpy(out.data() + at * sizeof value, &value, sizeof value);
    }
  }
  return {};
}

Result<void> keep_fp8_scales(ConvertStream& stream, const PlannedTensor& tensor) {
  for (const TensorInfo& output : outputs_of(tensor)) {
    if (output.name == tensor.name) continue;
    const bool of_inputs = output.name == part_name(tensor.name, kInputScalePart);
    DIECAST_TRY(const TensorInfo* source,
                stream.source(of_inputs ? output.name : tensor.scaled->scales));
    DIECAST_TRY(const std::vector<float> scales,
                read_scales(stream, *source, CodeForm::fp8, 0, source->elements()));
    DIECAST_CHECK(stream.write(tensor.file, output.name, 0, std::as_bytes(std::span(scales))));
  }
  return {};
}

Result<void> decode_scaled(ConvertStream& stream, const PlannedTensor& tensor,
                           ConvertReport& report) {
  const auto width = static_cast<std::uint64_t>(dtype_bits(tensor.to) / 8);
  Bytes narrowed;
  Nonfinite found;
  const auto convert_piece = [&](const Piece& piece) -> Result<void> {
    const std::span<std::byte> values = stream.values.sized(piece.elements() * sizeof(float));
    DIECAST_CHECK(read_scaled(stream, tensor, piece, values));
    narrow(values, tensor.to, narrowed);
    found += count_nonfinite(narrowed, tensor.to);
    return write_values(stream, tensor, piece, width, narrowed);
  };
  for (std::uint64_t matrix = 0; matrix < tensor.matrices.matrices; ++matrix)
    DIECAST_CHECK(stream.each_piece(tensor.matrices, matrix, sizeof(float), convert_piece));
  return report_nonfinite(tensor, found, stream.plan(), report);
}

}  // namespace diecast
