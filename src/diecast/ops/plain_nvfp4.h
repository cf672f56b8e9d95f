// The rowwise NVFP4 matrix that a prepared op was made for, known to be right in one pass without a
// jump: beside the driver's launch every jump costs as much as ten other instructions. Whatever is
// not certain is left to the checks that can say what is wrong.
#pragma once

#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>

namespace diecast {

class PlainNvfp4 {
 public:
  PlainNvfp4() = default;  // nothing is certain
  PlainNvfp4(Profile profile, ScaleLayout layout, int e4m3_bound, bool row_scaled);

  // Whether `x` passes Tensor::check, `q` passes QuantizedTensor::check, and q is the rowwise NVFP4
  // matrix of x's shape in 1x16 blocks with the profile, layout, bound and scaling given above.
  bool holds(const Tensor& x, const QuantizedTensor& q) const {
    constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
    const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
    const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
    const QuantizedSide& side = q.rowwise;
    const std::uint64_t rows = bits(x.shape.dims[0]), cols = bits(x.shape.dims[1]);
    const std::uint64_t stride = bits(x.row_stride), blocks = (cols + 15) >> 4;
    const std::uint64_t scales =
        ((rows + scale_rows_) & ~scale_rows_) * ((blocks + scale_cols_) & ~scale_cols_);
    const std::uint64_t data_bytes = bits(side.data_bytes), scale_bytes = bits(side.scale_bytes);
    // Every term is 0 where it is right; the top bit of a difference says that there is too little.
    std::uint64_t wrong = bits(x.shape.rank ^ 2) | bits(q.shape.rank ^ 2);
    wrong |= (bits(q.shape.dims[0]) ^ rows) | (bits(q.shape.dims[1]) ^ cols);
    wrong |= (rows | cols | stride) & ~(kPlainSize - 1);
    wrong |= (stride == 0 ? 0 : stride - cols) & kTop;
    wrong |= address(x.data) & bits(dtype_bits(x.dtype) / 8 - 1);
    wrong |= bits(q.format) ^ bits(Format::nvfp4);
    wrong |= bits(q.block_rows ^ 1) | bits(q.block_cols ^ 16);
    wrong |= (bits(q.profile) ^ bits(profile_)) | (bits(q.layout) ^ bits(layout_));
    wrong |= bits(q.e4m3_bound ^ bound_) | (bits(q.row_scaled) ^ bits(row_scaled_));
    wrong |= address(q.columnwise.data) | address(q.columnwise.scale) | bits(side.scale_stride);
    wrong |= bits(side.amax_count) ^ (row_scaled_ ? rows : 1);
    wrong |= bits(x.data == nullptr) | bits(side.data == nullptr);
    wrong |= bits(side.scale == nullptr) | bits(side.amax == nullptr);
    wrong |= (data_bytes | (data_bytes - rows * blocks * 8)) & kTop;
    wrong |= (scale_bytes | (scale_bytes - scales)) & kTop;
    return wrong == 0;
  }

 private:
  std::uint64_t scale_rows_ = 0, scale_cols_ = 0;  // a tile's, less 1
  int bound_ = 0;                                  // 0: no matrix has it
  Profile profile_ = Profile::te;
  ScaleLayout layout_ = ScaleLayout::linear;
  bool row_scaled_ = false;
};

}  // namespace diecast
