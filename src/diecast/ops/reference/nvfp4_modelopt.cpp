// Profile `modelopt` (packed) in IEEE single precision, as its tensors compute on a GPU: dividing a
// tensor by a plain number is multiplying by the number's rounded reciprocal, dividing two tensors
// is a division.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

namespace diecast::reference {

float modelopt_scale_2(float amax, int bound) {
  const float reciprocal = 1.0f / static_cast<float>(6 * bound);
  return amax * reciprocal;
}

namespace {

// Upstream's 0 / 0 is NaN, which makes NaN scales of a tensor of zeros; here it is 0.
float divide(float a, float b) {
  if (a == 0.0f && b == 0.0f) return 0.0f;
  return a / b;
}

std::uint8_t scale_byte(float scale) {
  if (scale < 0x1p-9f) scale = 0x1p-9f;  // a byte is never 0; NaN stays
  if (scale > 448.0f) scale = 448.0f;
  return encode_e4m3(scale);
}

void encode(const Sixteen& x, float scale_2, Block& out) {
  const float step = decode_e4m3(out.scale) * scale_2;
  for (std::size_t i = 0; i < 16; ++i) {
    const float y = divide(x[i], step);
    out.scaled[i] = y == 0.0f ? 0.0f : y;  // -0 too
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
}

}  // namespace

Block modelopt_block(const Sixteen& x, float block_amax, float scale_2) {
  Block out;
  const float scale = divide(block_amax, 6.0f * scale_2);
  out.scale = scale_byte(scale == 0.0f ? 1.0f : scale);
  encode(x, scale_2, out);
  return out;
}

Block modelopt_static_block(const Sixteen& x, float block_amax, float amax, int bound) {
  const float reciprocal = 1.0f / 6.0f;
  const float of_block = block_amax * reciprocal, of_tensor = amax * reciprocal;
  const float raised = (of_block == 0.0f ? 1.0f : of_block) * static_cast<float>(bound);
  Block out;
  out.scale = scale_byte(raised / of_tensor);
  encode(x, modelopt_scale_2(amax, bound), out);
  return out;
}

}  // namespace diecast::reference
