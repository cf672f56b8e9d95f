// The values of one weight wherever the input has them, and wherever the output puts them. Internal
// to convert().
#pragma once

#include <diecast/checkpoint/convert_stream.h>

namespace diecast {

// Bytes of one element of a weight on its way, and its type.
std::uint64_t width_of(const PlannedTensor& tensor);
DType type_of(const PlannedTensor& tensor);

// The piece's rows, one after another, in `out`, which has their size. Errors: as
// ConvertStream::read()'s.
Result<void> read_values(ConvertStream& stream, const PlannedTensor& tensor, const Piece& piece,
                         std::span<std::byte> out);

// The other way round, of elements of `width` bytes.
Result<void> write_values(ConvertStream& stream, const PlannedTensor& tensor, const Piece& piece,
                          std::uint64_t width, ByteSpan values);

// Bytes of its NVFP4, each of which stands for `each` values of the piece: 2 of codes, 16 of block
// scales. In a tensor of all experts they lie transposed.
Result<void> read_codes(ConvertStream& stream, const PlannedTensor& tensor,
                        const TensorInfo& source, const Piece& piece, std::uint64_t each,
                        std::span<std::byte> out);
// The same of a matrix's block scales in tiles (Nvfp4Layout).
Result<void> read_tiled_scales(ConvertStream& stream, const PlannedTensor& tensor,
                               const TensorInfo& source, const Piece& piece,
                               std::span<std::byte> out);

// The other of the two orders of codes in a byte.
void swap_nibbles(std::span<std::byte> codes);

Result<void> write_codes(ConvertStream& stream, const PlannedTensor& tensor,
                         const std::string& name, const Piece& piece, std::uint64_t each,
                         ByteSpan bytes);

// As read_values() of codes with scales, as f32: each value times its scale, rounded once. Errors:
// nonfinite_values (a scale, unless the plan allows it), file_corrupt (a negative scale of FP8,
// or a zero one of values that are no zeros) too.
Result<void> read_scaled(ConvertStream& stream, const PlannedTensor& tensor, const Piece& piece,
                         std::span<std::byte> out);

// A global scale that values are multiplied by, whether the tensor holds it or its reciprocal.
// Errors: nonfinite_values (no positive number).
Result<float> read_global(ConvertStream& stream, const std::string& name);

// Writes the scales of an FP8 weight that stays so, and that of its inputs, as F32.
Result<void> keep_fp8_scales(ConvertStream& stream, const PlannedTensor& tensor);

// Writes such values as numbers of the tensor's `to`. Errors: as report_nonfinite()'s.
Result<void> decode_scaled(ConvertStream& stream, const PlannedTensor& tensor,
                           ConvertReport& report);

}  // namespace diecast
