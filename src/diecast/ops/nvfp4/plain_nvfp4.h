// The rowwise NVFP4 matrix that a prepared op was made for, known to be right in one pass without a
// jump: beside the driver's launch every jump costs as much as ten other instructions. Whatever is
// not certain is left to the checks that can say what is wrong.
#pragma once

#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <bit>
#include <cstdint>

namespace diecast {

class PlainNvfp4 {
 public:
  PlainNvfp4() = default;  // nothing is certain
  PlainNvfp4(DType in,
             const QuantizedType& type);  // of a type that is rowwise NVFP4 in 1x16 blocks

  // Whether `x` passes Tensor::check and is of type `in`, `q` passes QuantizedTensor::check, and q
  // is of x's shape, of the type given above and rowwise alone.
  bool holds(const Tensor& x, const QuantizedTensor& q) const {
    const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
    const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
    const QuantizedSide& side = q.rowwise;
    const std::uint64_t rows = bits(x.shape.dims[0]), cols = bits(x.shape.dims[1]);
    const std::uint64_t stride = bits(x.row_stride), blocks = (cols + 15) >> 4;
    const std::uint64_t scales =
        ((rows + scale_rows_) & ~scale_rows_) * ((blocks + scale_cols_) & ~scale_cols_);
    const std::uint64_t data_bytes = bits(side.data_bytes), scale_bytes = bits(side.scale_bytes);
    // Every term is 0 where it is right.
    std::uint64_t wrong = bits(x.shape.rank ^ 2) | bits(q.shape.rank ^ 2);
    wrong |= (bits(q.shape.dims[0]) ^ rows) | (bits(q.shape.dims[1]) ^ cols);
    wrong |= (rows | cols | stride) & ~(kPlainSize - 1);
    wrong |= (bits(x.dtype) ^ bits(in_)) | (address(x.data) & past_element_);
    wrong |= word_of(q.type) ^ type_;
    wrong |= address(q.columnwise.data) | address(q.columnwise.scale) | bits(side.scale_stride);
    wrong |= bits(side.amax_count) ^ ((rows & per_row_) + in_all_);
    // Of these the top bit is: a null pointer less 1, and a difference that is too little.
    std::uint64_t less = (address(x.data) - 1) | (address(side.data) - 1);
    less |= (address(side.scale) - 1) | (address(side.amax) - 1);
    less |= stride == 0 ? 0 : stride - cols;
    less |= data_bytes | (data_bytes - rows * blocks * 8);
    less |= scale_bytes | (scale_bytes - scales);
    return (wrong | less >> 63) == 0;
  }

 private:
  static constexpr std::uint64_t kNoType = ~std::uint64_t{0};  // no type has all bits set
  static std::uint64_t word_of(const QuantizedType& type) {
    return std::bit_cast<std::uint64_t>(type);
  }

  std::uint64_t scale_rows_ = 0, scale_cols_ = 0;  // a tile's, less 1
  std::uint64_t type_ = kNoType;
  std::uint64_t per_row_ = 0, in_all_ = 1;  // an amax a row: all bits and 0
  std::uint64_t past_element_ = 0;
  DType in_ = DType::f32;
};

}  // namespace diecast
