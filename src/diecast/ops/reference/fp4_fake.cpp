// See fp4_fake.h. Every operation on floats is one rounding; none has the form a * b + c.
#include <diecast/ops/reference/fp4_fake.h>
#include <diecast/ops/reference/numbers.h>

#include <cmath>

namespace diecast::reference {

float fp4_scale(float amax) {
  const float sixth = 1.0f / 6.0f;
  return amax * sixth;
}

float fp4_scale(float amax, float global_amax, Fp8Conversion conversion) {
  float largest = fp4_scale(global_amax);
  if (largest <= std::ldexp(1.0f, -24)) largest = 1.0f;
  const float reciprocal = 1.0f / largest;
  const float to_e4m3 = conversion == Fp8Conversion::eager ? reciprocal * 448.0f : 448.0f / largest;
  const float from_e4m3 = 1.0f / to_e4m3;
  const float in_e4m3 = fp4_scale(amax) * to_e4m3;
  return decode_e4m3(encode_e4m3(in_e4m3)) * from_e4m3;
}

float fp4_dynamic_scale(float block_amax, float global_amax) {
  const float over_2688 = 1.0f / 2688.0f;
  float unit = global_amax * over_2688;
  if (std::isnan(unit) || unit <= 0.0f) unit = 1e-12f;
  const float six_units = 6.0f * unit;
  const float in_e4m3 = std::fmin(block_amax / six_units, 448.0f);
  const float p = decode_e4m3(encode_e4m3(in_e4m3)) * unit;
  return p >= 1e-5f ? p : 1.0f;
}

float fp4_fake(float x, float p) {
  const auto code = static_cast<std::uint8_t>(encode_e2m1(std::fabs(x) / p) % 8u);
  const float y = decode_e2m1(code) * p;
  return x >= 0.0f ? y : 0.0f - y;
}

float fp4_fake_static(float x, float p) {
  if (p == 0.0f) return 0.0f;
  return fp4_fake(x, std::isfinite(p) ? p : 1.0f);
}

}  // namespace diecast::reference
