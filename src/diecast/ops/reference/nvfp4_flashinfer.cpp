// FlashInfer's profiles. In its CUDA back end every operation takes and gives zeros for subnormals,
// as code built with fast math does in either mode; its CuTe-DSL back end keeps them. The fast
// modes' reciprocals are the processor's approximations, which the caller brings.
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4.h>

#include <cfloat>
#include <cmath>

namespace diecast::reference {
namespace {

const float kSixth = 1.0f / 6.0f;

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float times(float a, float b) { return flush(flush(a) * flush(b)); }

struct ScaleAndFactor {
  std::uint8_t scale;
  float factor;
};

// What a block of zeros gives and takes in every mode but the fast one of CuTe-DSL.
constexpr ScaleAndFactor kNothing = {0, 0.0f};

// Scale and factor under G, the factor not yet limited.
ScaleAndFactor exact(float block_amax, float global) {
  if (block_amax == 0.0f) return kNothing;
  const std::uint8_t scale = encode_e4m3(times(block_amax, times(global, kSixth)));
  const float step = times(decode_e4m3(scale), flush(1.0f / flush(global)));
  return {scale, flush(1.0f / step)};
}

ScaleAndFactor fast(float block_amax, float global, const Reciprocal& near) {
  const std::uint8_t scale = encode_e4m3(times(global, times(block_amax, near(6.0f))));
  if (block_amax == 0.0f) return {scale, 0.0f};
  return {scale, near(times(decode_e4m3(scale), near(global)))};
}

float limited(float factor) { return std::fmin(factor, FLT_MAX); }

Block flushed_block(const Sixteen& x, const ScaleAndFactor& found) {
  Block out;
  out.scale = found.scale;
  for (std::size_t i = 0; i < 16; ++i) {
    out.scaled[i] = times(x[i], found.factor);
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
  return out;
}

ScaleAndFactor dsl(float block_amax, float global, const Reciprocal& near) {
  if (near) {
    const std::uint8_t scale = encode_e4m3(global * (block_amax * near(6.0f)));
    const float value = decode_e4m3(scale);
    return {scale, value == 0.0f ? 0.0f : near(value * near(global))};
  }
  if (block_amax == 0.0f) return kNothing;
  const float sixth_of_global = global * kSixth;
  const std::uint8_t scale = encode_e4m3(block_amax * sixth_of_global);
  const float decode = 1.0f / global;
  return {scale, limited(1.0f / (decode_e4m3(scale) * decode))};
}

}  // namespace

Block flashinfer_block(const Sixteen& x, float block_amax, float global, const Reciprocal& near) {
  const float amax = flush(block_amax);
  if (near) return flushed_block(x, fast(amax, global, near));
  const ScaleAndFactor found = exact(amax, global);
  return flushed_block(x, {found.scale, limited(found.factor)});
}

Block flashinfer_token_block(const Sixteen& x, float block_amax, float row_amax,
                             const Reciprocal& near) {
  const float amax = flush(block_amax), of_row = flush(row_amax);
  if (near) return flushed_block(x, fast(amax, near(times(of_row, 1.0f / 2688.0f)), near));
  const float wanted = of_row == 0.0f ? FLT_MAX : limited(2688.0f / of_row);
  return flushed_block(x, exact(amax, wanted == 0.0f ? 1.0f : wanted));
}

Block flashinfer_dsl_block(const Sixteen& x, float block_amax, float global,
                           const Reciprocal& near) {
  const ScaleAndFactor found = dsl(block_amax, global, near);
  Block out;
  out.scale = found.scale;
  for (std::size_t i = 0; i < 16; ++i) {
    out.scaled[i] = x[i] * found.factor;
    out.codes[i] = encode_e2m1(out.scaled[i]);
  }
  return out;
}

}  // namespace diecast::reference
