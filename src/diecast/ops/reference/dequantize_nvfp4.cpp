// See dequantize_nvfp4.h. Every product is one f32 rounding.
#include <diecast/ops/reference/dequantize_nvfp4.h>
#include <diecast/ops/reference/numbers.h>

namespace diecast::reference {

float dequantized(const PackedNvfp4& q, Global form, const std::vector<float>& global,
                  std::int64_t row, std::int64_t col) {
  const std::int64_t row_blocks = (q.cols + q.block - 1) / q.block;
  const unsigned pair = q.codes[static_cast<std::size_t>(row * q.row_bytes + col / 2)];
  const auto code = static_cast<std::uint8_t>(col % 2 == 0 ? pair % 16 : pair / 16);
  const float scale =
      decode_e4m3(q.scales[static_cast<std::size_t>(row * row_blocks + col / q.block)]);
  const float of_row = global[q.row_scaled ? static_cast<std::size_t>(row) : 0];
  if (form == Global::decode) {
    const float in_units = decode_e2m1(code) * scale;  // exact
    return in_units * of_row;
  }
  const float largest = 6.0f * static_cast<float>(q.bound);
  const float scaled_amax = scale * of_row;
  const float step = scaled_amax * (1.0f / largest);
  return decode_e2m1(code) * step;
}

}  // namespace diecast::reference
