// Profiles `flashinfer_exact` and `flashinfer_fast`: every operation takes and gives zeros for
// subnormals, as code built with fast math does in either mode. The fast one's reciprocals are the
// processor's approximations, which the caller brings.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cfloat>
#include <cmath>

namespace diecast::reference {
namespace {

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float times(float a, float b) { return flush(flush(a) * flush(b)); }

struct ScaleAndFactor {
  std::uint8_t scale;
  float factor;
};

ScaleAndFactor exact(float block_amax, float global) {
  if (block_amax == 0.0f) return {0, 0.0f};
  const float sixth = 1.0f / 6.0f;
  const std::uint8_t scale = encode_e4m3(times(block_amax, times(global, sixth)));
  const float step = times(decode_e4m3(scale), flush(1.0f / flush(global)));
  return {scale, std::fmin(flush(1.0f / step), FLT_MAX)};
}

ScaleAndFactor fast(float block_amax, float global, const Reciprocal& near) {
  const std::uint8_t scale = encode_e4m3(times(global, times(block_amax, near(6.0f))));
  if (block_amax == 0.0f) return {scale, 0.0f};
  return {scale, near(times(decode_e4m3(scale), near(global)))};
}

}  // namespace

Block flashinfer_block(const Sixteen& x, float block_amax, float global, const Reciprocal& near) {
  const float amax = flush(block_amax);
  const ScaleAndFactor found = near ? fast(amax, global, near) : exact(amax, global);
  Block out;
  out.scale = found.scale;
  for (std::size_t i = 0; i < 16; ++i) {
    out.scaled[i] = times(x[i], found.factor);
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
  return out;
}

}  // namespace diecast::reference
