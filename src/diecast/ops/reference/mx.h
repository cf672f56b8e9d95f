// MXFP8 and MXFP4, one block after another: the truth every quantize_mx, quantize_mx_tiles and
// dequantize_mx kernel is tested against to the bit. The formula card is templates/PROFILES.md.
// All memory here is host memory.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <vector>

namespace diecast::reference {

// How a block's scale becomes a power of two.
enum class MxMode { rceil, floor, ceil, even };

struct MxFormula {
  Format format = Format::mxfp8_e4m3;
  MxMode mode = MxMode::rceil;
  bool nan_scale = false;  // profiles torchao, modelopt: a NaN or infinite amax, a NaN scale
  bool modelopt = false;   // mxfp4 in bf16 arithmetic, ties towards zero, zeros negative
};

// The E8M0 byte of a block with this amax: NaN if `nan_scale` and the block has one, else ignored.
std::uint8_t mx_scale(const MxFormula& formula, float amax);
// A byte of FP8 or an E2M1 code under a scale byte.
std::uint8_t mx_code(const MxFormula& formula, float x, std::uint8_t scale);
// The value of such a code.
float mx_value(Format format, std::uint8_t code, std::uint8_t scale);

// One direction of a matrix in an MX format, scales not tiled.
struct MxSide {
  // FP8: [rows, cols] in either direction. E2M1: rowwise [rows, align_up(cols, 32) / 2], columnwise
  // [cols, align_up(rows, 32) / 2]; the element with the even place in the low nibble.
  std::vector<std::uint8_t> data;
  // Rowwise [rows, ceil_div(cols, 32)]; columnwise [cols, ceil_div(rows, 32)].
  std::vector<std::uint8_t> scales;
};

// x is f32, bf16 or f16. Blocks of 1x32 along the rows or the columns, or of 32x32 with
// `square_blocks`: then the scale stands once for each of the tile's 32 rows or columns. What lies
// behind an end counts as zeros. Errors: dtype_mismatch, and those of Tensor::check.
Result<MxSide> quantize_mx(const Tensor& x, const MxFormula& formula, bool columnwise,
                           bool square_blocks);

// Element (row, col) of the [rows, cols] matrix that `side` holds in this direction.
float mx_element(const MxSide& side, Format format, bool columnwise, std::int64_t rows,
                 std::int64_t cols, std::int64_t row, std::int64_t col);

}  // namespace diecast::reference
