// Fake quantization as ModelOpt does it: x / p to the nearest E2M1 magnitude and times p again, the
// sign put back by comparison with zero. Formulas: templates/PROFILES.md, with IEEE division.
#pragma once

#include <diecast/device/base/simt.h>
#include <diecast/device/base/types.h>
#include <diecast/device/numbers/convert.h>
#include <diecast/device/numbers/quotient.h>

namespace diecast {

inline constexpr f32 kSixth = 0x1.555556p-3f;  // fl(1/6): upstream divides by 6 with it on a GPU

// What a tensor's block scales are quantized with: sc multiplies, ic = 1 / sc brings back.
struct Fp4ScaleOfScales {
  f32 sc, ic;
};

// `Reciprocal`: 448 / ga as fl(fl(1 / ga) * 448), else as one division.
template <bool Reciprocal>
DIECAST_DEVICE Fp4ScaleOfScales fp4_scale_of_scales(f32 global_amax) {
  f32 ga = __fmul_rn(global_amax, kSixth);
  if (ga <= 0x1p-24f) ga = 1.0f;
  const f32 sc = Reciprocal ? __fmul_rn(quotient(1.0f, ga), 448.0f) : quotient(448.0f, ga);
  return {sc, quotient(1.0f, sc)};
}

DIECAST_DEVICE f32 fp4_quantized_scale(f32 p, const Fp4ScaleOfScales& of) {
  return __fmul_rn(f32_from_e4m3(e4m3_from_f32(__fmul_rn(p, of.sc))), of.ic);
}

// What a caller or a formula gave: what is not finite is 1.
DIECAST_DEVICE f32 fp4_finite_scale(f32 p) { return fabsf(p) <= 0x1.fffffep127f ? p : 1.0f; }

// x under the scale p; NaN becomes -6 p, and 0 makes zeros.
DIECAST_DEVICE f32 fp4_fake(f32 x, f32 p) {
  if (p == 0.0f) return 0.0f;
  const u32 magnitude = e2m1_magnitude(quotient(fabsf(x), p)) & 7u;
  const f32 y = __fmul_rn(f32_from_e2m1(magnitude), p);
  return x >= 0.0f ? y : __fsub_rn(0.0f, y);
}

// Neighbours under any scale, one after another.
template <class IN, class OUT>
DIECAST_DEVICE_CALL void fp4_fake_each(const IN* x, OUT* out, i64 count, f32 p) {
  DIECAST_NO_UNROLL
  for (i64 i = 0; i < count; ++i) out[i] = from_f32<OUT>(fp4_fake(to_f32(x[i]), p));
}

}  // namespace diecast
