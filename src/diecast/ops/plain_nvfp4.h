// The rowwise NVFP4 matrix that a prepared op was made for, known to be right in one pass without a
// jump: beside the driver's launch every jump costs as much as ten other instructions. Whatever is
// not certain is left to the checks that can say what is wrong.
#pragma once

#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diecast {

class PlainNvfp4 {
 public:
  PlainNvfp4() = default;  // nothing is certain
  PlainNvfp4(DType in, Profile profile, ScaleLayout layout, int e4m3_bound, bool row_scaled);

  // Whether `x` passes Tensor::check and is of type `in`, `q` passes QuantizedTensor::check, and q
  // is the rowwise NVFP4 matrix of x's shape in 1x16 blocks with the profile, layout, bound and
  // scaling given above.
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
    wrong |= bits(q.format) ^ bits(Format::nvfp4);
    wrong |= (word_of(q, kBlocks) ^ blocks_) | ((word_of(q, kKind) ^ kind_) & kKindMask);
    wrong |= bits(q.row_scaled) ^ (per_row_ & 1);
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
  // What lies side by side in a QuantizedTensor, compared in one piece: its blocks' size; its
  // layout, profile and bound, with two bytes of nothing between.
  static constexpr std::size_t kBlocks = offsetof(QuantizedTensor, block_rows);
  static constexpr std::size_t kKind = offsetof(QuantizedTensor, layout);
  static constexpr std::uint64_t kKindMask = 0xFFFFFFFF0000FFFF;
  static_assert(offsetof(QuantizedTensor, block_cols) == kBlocks + 4);
  static_assert(offsetof(QuantizedTensor, profile) == kKind + 1);
  static_assert(offsetof(QuantizedTensor, e4m3_bound) == kKind + 4);
  static std::uint64_t word_of(const QuantizedTensor& q, std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&q) + at, sizeof word);
    return word;
  }

  std::uint64_t scale_rows_ = 0, scale_cols_ = 0;  // a tile's, less 1
  std::uint64_t blocks_ = 0;                       // 0: no matrix has it
  std::uint64_t kind_ = 0;
  std::uint64_t per_row_ = 0, in_all_ = 1;  // an amax a row: all bits and 0
  std::uint64_t past_element_ = 0;
  DType in_ = DType::f32;
};

}  // namespace diecast
