// Profile `torchao` in IEEE single precision, as its tensors compute on a GPU: dividing a tensor by
// a plain number is multiplying by the number's rounded reciprocal. One level is two levels under a
// per-tensor scale of 1.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

namespace diecast::reference {

float torchao_per_tensor_scale(float amax) {
  const float reciprocal = 1.0f / 2688.0f;
  return amax * reciprocal;
}

Block torchao_block(const Sixteen& x, float block_amax, float per_tensor_scale) {
  const float reciprocal = 1.0f / 6.0f;
  const float sixth = block_amax * reciprocal;
  float scale = sixth / per_tensor_scale;  // 0 / 0 for a tensor of zeros: NaN, as upstream
  if (scale < 0x1p-6f) scale = 0x1p-6f;    // the smallest normal E4M3
  if (scale > 448.0f) scale = 448.0f;
  Block out;
  out.scale = encode_e4m3(scale);
  const float inverse = 1.0f / per_tensor_scale;
  const float factor = inverse / decode_e4m3(out.scale);
  for (std::size_t i = 0; i < 16; ++i) {
    out.scaled[i] = x[i] * factor;
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
  return out;
}

}  // namespace diecast::reference
