// Four over six, of profile `te`, in IEEE single precision. Every product, difference and sum is
// one rounding, in the order written: a compiler must not fuse them (the build says so).
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cfloat>
#include <cmath>

namespace diecast::reference {

float four_over_six_encode_scale(float amax, int bound) {
  if (amax == 0.0f) return 1.0f;
  const float scale = std::fmin(static_cast<float>(6 * bound) / amax, FLT_MAX);
  return scale == 0.0f ? 1.0f : scale;
}

namespace {

struct Measured {
  Block block;
  float error;
};

Measured measured(const Sixteen& x, float scale, float amax, int bound, bool squares) {
  const float decode_scale = 1.0f / four_over_six_encode_scale(amax, bound);
  Measured out{{}, 0.0f};
  out.block.scale = encode_e4m3(std::fmin(scale, 448.0f));
  const float value = decode_e4m3(out.block.scale);
  const float step = value * decode_scale;
  const float factor = std::fmin(1.0f / step, FLT_MAX);
  for (std::size_t i = 0; i < 16; ++i) {
    out.block.scaled[i] = x[i] * factor;
    out.block.codes[i] = encode_e2m1(out.block.scaled[i]);
    const float units = decode_e2m1(out.block.codes[i]) * value;
    const float scaled = units * amax;
    const float back = scaled / static_cast<float>(6 * bound);
    const float lost = back - x[i];
    const float term = squares ? lost * lost : std::fabs(lost);
    out.error = out.error + term;
  }
  return out;
}

}  // namespace

Candidates four_over_six(const Sixteen& x, float block_amax, float amax, int bound, bool squares) {
  const float sixth = block_amax / 6.0f;
  const float base = sixth * four_over_six_encode_scale(amax, bound);
  const Measured four = measured(x, base * 1.5f, amax, bound, squares);
  const Measured six = measured(x, base, amax, bound, squares);
  return {four.block, six.block, four.error, six.error};
}

}  // namespace diecast::reference
