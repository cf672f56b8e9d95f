// NVFP4 under profile `te`, one element after another: the truth every quantize_nvfp4 and
// dequantize_nvfp4 kernel is tested against to the bit. The formula card is templates/PROFILES.md.
// All memory here is host memory.
#pragma once

#include <diecast/base/error.h>
#include <diecast/ops/tensor.h>

#include <cstdint>
#include <vector>

namespace diecast::reference {

// The card's four steps for one block and one element.
float te_encode_scale(float amax);  // S
float te_decode_scale(float amax);  // D = 1 / S: a checkpoint's scale_2
std::uint8_t te_block_scale(float block_amax, float encode_scale);  // an E4M3 byte
float te_encode_factor(std::uint8_t block_scale, float encode_scale);
std::uint8_t te_code(float x, float encode_factor);  // an E2M1 code

// A [rows, cols] matrix in NVFP4 with linear scales.
struct Nvfp4 {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  // [rows, align_up(cols, 16) / 2], the element with the even column in the low nibble.
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;  // E4M3 [rows, ceil_div(cols, 16)]
  bool row_scaled = false;
  std::vector<float> amax;  // [1], or [rows] when row_scaled
};

// The largest |x|, from +0 up, NaN ignored: [1] for the whole matrix, or [rows] with `per_row`.
// Here and below x is f32, bf16 or f16, else dtype_mismatch; further errors: Tensor::check's.
Result<std::vector<float>> amax(const Tensor& x, bool per_row);

// Quantizes x under a given amax of 1 entry, or of x.rows() entries when row_scaled (else
// shape_mismatch). A row's last block is padded with zeros.
Result<Nvfp4> te_quantize_nvfp4(const Tensor& x, std::vector<float> amax, bool row_scaled);
// The same under x's own amax.
Result<Nvfp4> te_quantize_nvfp4(const Tensor& x, bool row_scaled);

// What the numbers under a matrix's codes and block scales are given as.
enum class Global {
  amax,   // out = e2m1 * ((scale * amax) * (1 / 2688))
  decode  // out = (e2m1 * scale) * D
};

// Writes q to `out`, an f32, bf16 or f16 tensor of q's rows and columns. `global` has 1 entry, or
// q.rows when q is row-scaled: amax or decode scales as `form` says. Errors: dtype_mismatch,
// shape_mismatch (also buffers of q that are not its size), Tensor::check's.
Result<void> te_dequantize_nvfp4(const Nvfp4& q, Global form, const std::vector<float>& global,
                                 const Tensor& out);

}  // namespace diecast::reference
