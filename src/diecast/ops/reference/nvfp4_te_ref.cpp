// Profile `te_ref` in IEEE single precision: the numbers of `te`, but an amax of 0 saturates the
// global scale, NaN goes through every step that torch sends it through, and no zero has a sign.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cfloat>
#include <cmath>

namespace diecast::reference {
namespace {

// torch.min: of NaN and anything NaN.
float at_most_largest(float x) { return std::isnan(x) || x < FLT_MAX ? x : FLT_MAX; }

}  // namespace

float te_ref_encode_scale(float amax) {
  const float scale = at_most_largest(2688.0f / amax);
  return scale == 0.0f ? 1.0f : scale;  // an infinite amax; one of 0 has the largest float
}

Block te_ref_block(const Sixteen& x, float block_amax, float encode_scale, float decode_scale) {
  const float sixth = 1.0f / 6.0f;
  const float scale_over_six = encode_scale * sixth;
  Block out;
  out.scale = encode_e4m3(block_amax * scale_over_six);
  const float step = decode_e4m3(out.scale) * decode_scale;
  const float factor = at_most_largest(1.0f / step);
  for (std::size_t i = 0; i < 16; ++i) {
    const float y = x[i] * factor;
    out.scaled[i] = y < 0.0f || y > 0.0f ? y : 0.0f;  // neither NaN nor -0
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
  return out;
}

}  // namespace diecast::reference
