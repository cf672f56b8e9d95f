// Exponents in, exponents out; see convert_cast.h.
#include <diecast/checkpoint/convert_cast.h>
#include <diecast/checkpoint/convert_values.h>
#include <diecast/ops/reference/numbers.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace diecast {
namespace {

constexpr std::uint64_t kMxBlock = 32, kHalves = kMxBlock / kScaleBlock;
constexpr int kLeast = -9, kLargest = 8;  // exponents of E4M3's block scales that are used
constexpr std::byte kE8m0Nan{0xFF}, kE4m3Nan{0x7F};

int exponent_of(std::byte scale) { return std::to_integer<int>(scale) - 127; }

Error not_finite(const PlannedTensor& tensor) {
  return {ErrorCode::nonfinite_values,
          cat("a scale of ", quote(tensor.scaled->scales), " is not a number"),
          cat("write or download the checkpoint again, leave it out with --exclude ",
              quote(glob_of(tensor.name)), ", or have it so with --allow-nonfinite")};
}

// The largest exponent of a group's scales; none where all are zeros.
Result<std::optional<int>> largest_of(ConvertStream& stream, const Plan& plan,
                                      const std::vector<std::size_t>& group) {
  std::optional<int> largest;
  for (const std::size_t i : group) {
    const PlannedTensor& tensor = plan.tensors[i];
    DIECAST_TRY(const TensorInfo* source, stream.source(tensor.scaled->scales));
    const std::uint64_t held = stream.held(1);
    for (std::uint64_t at = 0; at < source->bytes(); at += held) {
      const auto scales = stream.scales.sized(std::min(held, source->bytes() - at));
      DIECAST_CHECK(stream.read(*source, at, scales));
      for (const std::byte scale : scales) {
        if (scale == kE8m0Nan && !plan.allow_nonfinite) return not_finite(tensor);
        if (scale == kE8m0Nan || scale == std::byte{0}) continue;
        largest = std::max(largest.value_or(exponent_of(scale)), exponent_of(scale));
      }
    }
  }
  return largest;
}

// Half an MXFP4 block whose scale is below what E4M3 has: its own best scale, and rounded codes.
void round_block(std::span<std::byte> codes, float unit, std::byte& scale) {
  std::array<float, kScaleBlock> values;
  float largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto pair = std::to_integer<std::uint8_t>(codes[i / 2]);
    values[i] = reference::decode_e2m1(i % 2 == 0 ? pair & 15 : pair >> 4) * unit;
    largest = std::max(largest, std::abs(values[i]));
  }
  const float wanted = std::max(largest / 6.0f, std::ldexp(1.0f, kLeast));
  const std::uint8_t byte = reference::encode_e4m3(wanted);
  scale = std::byte{byte};
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const float by = reference::decode_e4m3(byte);
    const auto low = reference::encode_e2m1(values[i] / by),
               high = reference::encode_e2m1(values[i + 1] / by);
    codes[i / 2] = static_cast<std::byte>(low | high << 4);
  }
}

Result<void> cast(ConvertStream& stream, const PlannedTensor& tensor, int origin,
                  ConvertReport& report) {
  DIECAST_TRY(const TensorInfo* source, stream.source(tensor.scaled->codes));
  DIECAST_TRY(const TensorInfo* exponents, stream.source(tensor.scaled->scales));
  Bytes read;
  Nonfinite found;
  const auto cast_piece = [&](const Piece& piece) -> Result<void> {
    const auto codes = stream.codes.sized(piece.elements() / 2),
               scales = stream.scales.sized(piece.elements() / kScaleBlock);
    DIECAST_CHECK(stream.read(*source, piece.first / 2, codes));
    const std::uint64_t first = piece.first / kMxBlock,
                        last = (piece.first + piece.elements() - 1) / kMxBlock;
    read.resize(last - first + 1);
    DIECAST_CHECK(stream.read(*exponents, first, read));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const std::uint64_t block = (piece.first / kScaleBlock + i) / kHalves - first;
      const int exponent = exponent_of(read[block]) - origin;
      ++report.cast_blocks;
      if (read[block] == kE8m0Nan) {
        ++report.exact_blocks;
        found.nan += kScaleBlock;
        scales[i] = kE4m3Nan;
      } else if (exponent >= kLeast) {
        ++report.exact_blocks;
        scales[i] = std::byte{reference::encode_e4m3(std::ldexp(1.0f, exponent))};
      } else {
        const auto part = codes.subspan(i * kScaleBlock / 2, kScaleBlock / 2);
        round_block(part, std::ldexp(1.0f, exponent), scales[i]);
      }
    }
    DIECAST_CHECK(
        write_codes(stream, tensor, codes_name(tensor.name, tensor.form), piece, 2, codes));
    return write_codes(stream, tensor, part_name(tensor.name, kScalePart), piece, kScaleBlock,
                       scales);
  };
  for (std::uint64_t matrix = 0; matrix < tensor.matrices.matrices; ++matrix)
    DIECAST_CHECK(stream.each_piece(tensor.matrices, matrix, kHalves, cast_piece));
  return report_nonfinite(tensor, found, stream.plan(), report);
}

}  // namespace

bool is_cast(const Plan& plan, const std::vector<std::size_t>& group) {
  return std::ranges::all_of(group, [&](std::size_t i) {
    const PlannedTensor& tensor = plan.tensors[i];
    return tensor.scaled && tensor.scaled->kind == CodeForm::mxfp4 && !tensor.row_scaled;
  });
}

Result<void> cast_group(ConvertStream& stream, const Plan& plan,
                        const std::vector<std::size_t>& group, ConvertReport& report) {
  DIECAST_TRY(const std::optional<int> largest, largest_of(stream, plan, group));
  const int origin = largest.value_or(0) - kLargest;
  for (const std::size_t i : group) {
    const PlannedTensor& tensor = plan.tensors[i];
    DIECAST_CHECK(cast(stream, tensor, origin, report));
    DIECAST_CHECK(stream.write_global(tensor, scale_2_name(tensor.name, tensor.form), 0,
                                      std::ldexp(1.0f, origin)));
    if (tensor.form.format == WeightFormat::nvfp4_w4a16) continue;
    DIECAST_CHECK(stream.write_global(tensor, input_scale_name(tensor.name, tensor.form), 0,
                                      tensor.input_scale));
  }
  report.quantized += group.size();
  return {};
}

namespace {

// Codes and block scales, from the layout that they have.
Result<void> move_codes(ConvertStream& stream, const PlannedTensor& tensor) {
  DIECAST_TRY(const TensorInfo* from, stream.source(tensor.scaled->codes));
  DIECAST_TRY(const TensorInfo* from_scales, stream.source(tensor.scaled->scales));
  const bool linear = tensor.layout.scales == ScaleLayout::linear;
  return stream.each_piece(tensor.matrices, 0, 1, [&](const Piece& piece) -> Result<void> {
    const auto codes = stream.codes.sized(piece.elements() / 2),
               scales = stream.scales.sized(piece.elements() / kScaleBlock);
    DIECAST_CHECK(read_codes(stream, tensor, *from, piece, 2, codes));
    if (tensor.layout.high_first) swap_nibbles(codes);
    DIECAST_CHECK(linear ? read_codes(stream, tensor, *from_scales, piece, kScaleBlock, scales)
                         : read_tiled_scales(stream, tensor, *from_scales, piece, scales));
    DIECAST_CHECK(
        write_codes(stream, tensor, codes_name(tensor.name, tensor.form), piece, 2, codes));
    return write_codes(stream, tensor, scales_name(tensor.name, tensor.form), piece, kScaleBlock,
                       scales);
  });
}

}  // namespace

Result<void> rename_weight(ConvertStream& stream, const PlannedTensor& tensor,
                           ConvertReport& report) {
  const ScaledSource& from = *tensor.scaled;
  DIECAST_CHECK(move_codes(stream, tensor));
  DIECAST_TRY(const float global, read_global(stream, from.global));
  DIECAST_CHECK(stream.write_global(tensor, scale_2_name(tensor.name, tensor.form), 0, global));
  ++report.quantized;
  if (tensor.form.format == WeightFormat::nvfp4_w4a16) return {};
  float input = tensor.input_scale;
  if (!from.input.empty()) {
    DIECAST_TRY(input, read_global(stream, from.input));
  }
  return stream.write_global(tensor, input_scale_name(tensor.name, tensor.form), 0, input);
}

}  // namespace diecast
