// The quantized matrices that most launches bring, known to be right in a few instructions: an op
// checks its operands at every run, and a launch itself takes the driver about a microsecond.
// Whatever is not certain is left to the check that can say what is wrong.
#include <diecast/ops/nvfp4/plain_nvfp4.h>
#include <diecast/ops/quantized_tensor.h>

namespace diecast {
namespace {

// Whether QuantizedType::check certainly has nothing to say.
bool plain_type(const QuantizedType& type) {
  if (!type.is_known()) return false;
  if (type.format != Format::nvfp4) return !type.row_scaled;
  if (type.row_scaled && type.square) return false;
  return type.e4m3_bound == 448 || (type.e4m3_bound == 256 && takes_half_bound(type.profile));
}

// Of plain sizes, in blocks of 16 or 32: no product leaves 63 bits.
bool plain_side(const QuantizedTensor& tensor, const QuantizedSide& side, std::int64_t rows,
                std::int64_t cols) {
  constexpr std::int64_t kRowsMask[] = {0, 127, 7}, kColsMask[] = {0, 3, 3};
  const auto layout = static_cast<std::size_t>(tensor.type.layout);
  const bool nvfp4 = tensor.type.format == Format::nvfp4;
  const std::int64_t blocks = nvfp4 ? (cols + 15) / 16 : (cols + 31) / 32;
  const std::int64_t row_bytes = nvfp4                             ? blocks * 8
                                 : is_four_bit(tensor.type.format) ? blocks * 16
                                                                   : cols;
  const std::int64_t scale_rows = (rows + kRowsMask[layout]) & ~kRowsMask[layout];
  const std::int64_t scale_cols = (blocks + kColsMask[layout]) & ~kColsMask[layout];
  if (side.data == nullptr || side.scale == nullptr || side.scale_stride != 0) return false;
  if (side.data_bytes < rows * row_bytes || side.scale_bytes < scale_rows * scale_cols)
    return false;
  return !nvfp4 || (side.amax != nullptr && side.amax_count == (tensor.type.row_scaled ? rows : 1));
}

}  // namespace

PlainNvfp4::PlainNvfp4(DType in, const QuantizedType& type)
    : scale_rows_(static_cast<std::uint64_t>(scale_tile_rows(type.layout) - 1)),
      scale_cols_(static_cast<std::uint64_t>(scale_tile_cols(type.layout) - 1)),
      per_row_(type.row_scaled ? ~std::uint64_t{0} : 0),
      in_all_(type.row_scaled ? 0 : 1),
      past_element_(static_cast<std::uint64_t>(dtype_bits(in) / 8 - 1)),
      in_(in) {
  if (type.format == Format::nvfp4 && !type.square && plain_type(type)) type_ = word_of(type);
}

bool QuantizedTensor::is_plain() const {
  const std::int64_t rows = shape.dims[0], cols = shape.dims[1];
  if (shape.rank != 2 || static_cast<std::uint64_t>(rows | cols) >= kPlainSize) return false;
  if (!plain_type(type) || !(rowwise.present() || columnwise.present())) return false;
  return (!rowwise.present() || plain_side(*this, rowwise, rows, cols)) &&
         (!columnwise.present() || plain_side(*this, columnwise, cols, rows));
}

}  // namespace diecast
