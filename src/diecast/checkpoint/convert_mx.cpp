// Piece by piece, each of whole blocks; see convert_mx.h.
#include <diecast/checkpoint/convert_mx.h>
#include <diecast/checkpoint/convert_values.h>
#include <diecast/checkpoint/floats.h>

namespace diecast {

Result<void> quantize_mx_weight(ConvertStream& stream, const PlannedTensor& tensor,
                                const ConvertKernels& kernels, ConvertReport& report) {
  const StoredForm& form = tensor.form;
  const std::uint64_t block = scale_block(form.format);
  const std::uint64_t each = form.format == WeightFormat::mxfp8 ? 1 : 2;  // codes a byte
  const std::string codes_tensor = codes_name(tensor.name, form),
                    scales_tensor = scales_name(tensor.name, form);
  Nonfinite found;
  const auto quantize_piece = [&](const Piece& piece) -> Result<void> {
    const auto values = stream.values.sized(piece.elements() * width_of(tensor)),
               codes = stream.codes.sized(piece.elements() / each),
               scales = stream.scales.sized(piece.elements() / block);
    DIECAST_CHECK(read_values(stream, tensor, piece, values));
    found += count_nonfinite(values, type_of(tensor));
    DIECAST_CHECK(about(
        tensor.name,
        kernels.quantize_mx(values, type_of(tensor), static_cast<std::int64_t>(piece.rows),
                            static_cast<std::int64_t>(piece.cols), form.format, codes, scales)));
    DIECAST_CHECK(stream.write(tensor.file, codes_tensor, piece.first / each, codes));
    return stream.write(tensor.file, scales_tensor, piece.first / block, scales);
  };
  for (std::uint64_t matrix = 0; matrix < tensor.matrices.matrices; ++matrix) {
    DIECAST_CHECK(stream.each_piece(tensor.matrices, matrix, width_of(tensor), quantize_piece));
  }
  DIECAST_CHECK(report_nonfinite(tensor, found, stream.plan(), report));
  ++report.quantized;
  return {};
}

}  // namespace diecast
