// What looks at a matrix along both sides, one element after another: maxima per row, column and
// block, transposes of codes and scales, scale layouts. The truth of the templates' tests; all
// memory here is host memory.
#pragma once

#include <diecast/ops/amax/amax.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <vector>

namespace diecast::reference {

using Bytes = std::vector<std::uint8_t>;

// A dense matrix of floats that are exact in some element type.
struct Values {
  std::int64_t rows = 0, cols = 0;
  std::vector<float> values;

  float& at(std::int64_t row, std::int64_t col) {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  float at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  Values transposed() const;
};

// x as it is, or transformed in blocks of 16 along its rows (and then padded to whole blocks) or
// down its columns, rounded to its own type.
Values values_of(const Tensor& x, AmaxTransform transform, unsigned sign_mask);

// The amax op's result, of blocks `block` wide.
std::vector<float> amax_per(const Tensor& x, AmaxPer per, AmaxNans nans, AmaxTransform transform,
                            unsigned sign_mask, int block = 16);

// E2M1 codes of [rows, cols] to those of [cols, rows]; rows are padded with zeros to `pad` codes.
Bytes transpose_codes(const Bytes& codes, std::int64_t rows, std::int64_t cols, int pad);

// Linear scales [rows, cols] in a layout, zeros in the padding.
Bytes laid_out(const Bytes& scales, ScaleLayout layout, std::int64_t rows, std::int64_t cols);

// Linear scales [rows, cols] of 16x16 blocks to those [new_rows, ceil_div(rows, 16)] of the
// transpose.
Bytes transpose_tile_scales(const Bytes& scales, std::int64_t rows, std::int64_t cols,
                            std::int64_t new_rows);

// A byte under a new global decode scale.
std::uint8_t rescaled(std::uint8_t scale, float old_decode, float new_decode);

}  // namespace diecast::reference
