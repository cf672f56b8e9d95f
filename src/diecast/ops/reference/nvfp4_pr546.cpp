// Profile `pr546` in IEEE single precision: the torch formula of a checkpoint converter. NaN goes
// through every step that torch sends it through.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cfloat>
#include <cmath>

namespace diecast::reference {

float pr546_encode_scale(float amax) {
  if (amax == 0.0f) return 0.0f;
  float scale = 2688.0f / amax;
  if (scale > FLT_MAX) scale = FLT_MAX;  // not fmin: NaN stays
  if (scale == 0.0f) scale = 1.0f;       // an infinite amax
  return scale;
}

namespace {

// Zeros of either sign and NaN have code 0; what is negative and rounds to zero keeps its sign.
float rounded_value(float y) { return std::isnan(y) || y == 0.0f ? 0.0f : y; }

}  // namespace

Block pr546_block(const Sixteen& x, float block_amax, float encode_scale, float decode_scale) {
  Block out;
  if (encode_scale == 0.0f) return out;
  const float sixth = block_amax / 6.0f;
  out.scale = encode_e4m3(sixth * encode_scale);
  const float step = decode_e4m3(out.scale) * decode_scale;
  const float factor = 1.0f / step;  // infinite where the byte is 0
  for (std::size_t i = 0; i < 16; ++i) {
    out.scaled[i] = rounded_value(x[i] * factor);
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
  return out;
}

}  // namespace diecast::reference
