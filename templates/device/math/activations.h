// tanh, sigmoid, silu and gelu in both forms; see math.h. Errors at most: tanh 1.6 ulp, sigmoid 2.6,
// silu 3.4, gelu 5.8, gelu_tanh 3.4; also far below zero, where little is left of the last three.
#pragma once

#include <diecast/device/math/exp.h>
#include <diecast/device/numbers/quotient.h>

namespace diecast::math {

DIECAST_DEVICE f32 with_sign_of(f32 magnitude, f32 x) {
  return __uint_as_float(__float_as_uint(magnitude) | (__float_as_uint(x) & 0x80000000u));
}

DIECAST_DEVICE f32 tanh(f32 x) {
  const f32 a = fabsf(x);
  if (a < 0.55f) {
    const f32 s = __fmul_rn(a, a);
    f32 p = -0x1.9c97bcp-8f;
    p = __fmaf_rn(p, s, 0x1.5982cap-6f);
    p = __fmaf_rn(p, s, -0x1.b932p-5f);
    p = __fmaf_rn(p, s, 0x1.110d6ap-3f);
    p = __fmaf_rn(p, s, -0x1.55554cp-2f);
    return with_sign_of(__fmaf_rn(__fmul_rn(a, s), p, a), x);
  }
  const f32 t = exp(__fadd_rn(a, a));
  return with_sign_of(__fsub_rn(1.0f, __fdiv_rn(2.0f, __fadd_rn(t, 1.0f))), x);
}

// y * exp(v) / (1 + exp(v)) for v of at most 0, given as v + low, in few roundings where exp(v) is
// subnormal.
DIECAST_DEVICE f32 times_logistic(f32 y, f32 v, f32 low = 0.0f) {
  const ExpParts t = exp_parts(v < -125.0f ? -125.0f : v, v < -125.0f ? 0.0f : low);
  const f32 below = __fadd_rn(1.0f, scaled(t.p, t.n));
  return scaled(__fdiv_rn(__fmul_rn(y, t.p), below), t.n);
}

DIECAST_DEVICE f32 sigmoid(f32 x) {
  if (x < 0.0f) return times_logistic(1.0f, x);
  return __fdiv_rn(1.0f, __fadd_rn(1.0f, exp(-x)));
}

// a / d for d from 1 to 2, and a finite: the shortest way there. (Where a is below 2^-60, d is 2 below.)
DIECAST_DEVICE f32 over_1_to_2(f32 a, f32 d) {
#if DIECAST_HOST
  return a / d;
#else
  return quotient_of_ordinary(a, d);
#endif
}

// x * sigmoid(x); -0 for -infinity. As times_logistic() below 0, but without a branch, since threads of a warp
// would go both ways. The ratio is at most x above 0, and NaN where x is infinite.
DIECAST_DEVICE f32 silu(f32 x) {
  const bool below_0 = x < 0.0f;
  const f32 v = fmaxf(-fabsf(x), -125.0f);
  const ExpParts t = exp_parts(v);
  const f32 ratio = over_1_to_2(below_0 ? __fmul_rn(v, t.p) : x, __fadd_rn(1.0f, scaled(t.p, t.n)));
  return below_0 ? scaled(ratio, t.n) : fminf(ratio, x);
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which is x * sigmoid of twice that argument.
DIECAST_DEVICE f32 gelu_tanh(f32 x) {
  if (x >= 0.0f) {
    const f32 w = __fmaf_rn(__fmul_rn(x, x), 0x1.2444f2p-4f, 0x1.988454p+0f);
    return __fdiv_rn(x, __fadd_rn(1.0f, exp(-__fmul_rn(x, w))));
  }
  if (x < -12.0f) x = -12.0f;  // -0 from there on
  // The argument in two floats: a part of it that is lost is multiplied by the argument.
  constexpr f32 kA = 0x1.988454p+0f, kALow = -0x1.857936p-25f, kB = 0x1.2444f2p-4f, kBLow = 0x1.49b16ap-29f;
  const f32 s = __fmul_rn(x, x), s_low = __fmaf_rn(x, x, -s);
  const f32 h = __fmul_rn(kB, s);
  const f32 h_low = __fmaf_rn(kB, s_low, __fmaf_rn(kBLow, s, __fmaf_rn(kB, s, -h)));
  const f32 w = __fadd_rn(kA, h), b = __fsub_rn(w, kA);
  const f32 w_error = __fadd_rn(__fsub_rn(kA, __fsub_rn(w, b)), __fsub_rn(h, b));
  const f32 w_low = __fadd_rn(w_error, __fadd_rn(h_low, kALow));
  const f32 v = __fmul_rn(x, w), v_low = __fmaf_rn(x, w_low, __fmaf_rn(x, w, -v));
  return times_logistic(x, v, v_low);
}

// The normal distribution's share above t is exp(-t^2 / 2) / (t + 4) times this, for z = (t - 4) / (t + 4).
DIECAST_DEVICE f32 share_polynomial(f32 z) {
  f32 p = -0x1.110a0ap-13f;
  p = __fmaf_rn(p, z, 0x1.929e8ep-13f);
  p = __fmaf_rn(p, z, 0x1.9edc9cp-10f);
  p = __fmaf_rn(p, z, -0x1.cd5274p-9f);
  p = __fmaf_rn(p, z, -0x1.edcc3p-8f);
  p = __fmaf_rn(p, z, 0x1.eed74p-5f);
  p = __fmaf_rn(p, z, -0x1.7dfefp-3f);
  p = __fmaf_rn(p, z, 0x1.8c6d8ep-2f);
  p = __fmaf_rn(p, z, -0x1.373e3cp-1f);
  return __fmaf_rn(p, z, 0x1.82b4bcp-1f);
}
// That share, for t up to 15: p * 2^n.
DIECAST_DEVICE ExpParts share_above(f32 t) {
  const f32 s = __fmul_rn(t, t), s_low = __fmaf_rn(t, t, -s);
  const f32 one = __fdiv_rn(1.0f, __fadd_rn(t, 4.0f)), z = __fmul_rn(__fsub_rn(t, 4.0f), one);
  const ExpParts of = exp_parts(__fmul_rn(s, -0.5f), __fmul_rn(s_low, -0.5f));
  return {__fmul_rn(__fmul_rn(share_polynomial(z), one), of.p), of.n};
}

// x times the normal distribution's share below x.
DIECAST_DEVICE f32 gelu(f32 x) {
  if (fabsf(x) < 1.0f) {
    const f32 s = __fmul_rn(x, x);
    f32 p = -0x1.a1c52ep-17f;
    p = __fmaf_rn(p, s, 0x1.07df78p-13f);
    p = __fmaf_rn(p, s, -0x1.39ea08p-10f);
    p = __fmaf_rn(p, s, 0x1.46f11p-7f);
    p = __fmaf_rn(p, s, -0x1.1058c4p-4f);
    p = __fmaf_rn(p, s, 0x1.988454p-2f);
    return __fmul_rn(x, __fmaf_rn(x, p, 0.5f));
  }
  if (!(x <= 15.0f)) return x;  // nothing above; NaN
  if (x < -15.0f) x = -15.0f;   // -0 from there on
  const ExpParts above = share_above(fabsf(x));
  if (x > 0.0f) return __fmaf_rn(-x, scaled(above.p, above.n), x);
  return scaled(__fmul_rn(x, above.p), above.n);
}

}  // namespace diecast::math
