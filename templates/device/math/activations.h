// tanh, sigmoid, silu and gelu in both forms; see math.h. Errors at most: tanh 2.58 ulp, sigmoid 2.41,
// silu 3.35, gelu 5.92, gelu_tanh 3.41; also far below zero, where little is left of the last three.
#pragma once

#include <diecast/device/math/exp.h>
#include <diecast/device/math/sign.h>
#include <diecast/device/numbers/quotient.h>

namespace diecast::math {

// a / d for magnitudes from 2^-60 to 2^60: the shortest way there. For d from 1 to 2 any finite a will do, if d is 2
// for those below 2^-60.
DIECAST_DEVICE f32 ordinary_quotient(f32 a, f32 d) {
#if DIECAST_HOST
  return a / d;
#else
  return quotient_of_ordinary(a, d);
#endif
}

// With e = exp(2 |x|) - 1 it is e / (e + 2).
DIECAST_DEVICE f32 tanh(f32 x) {
  const f32 a = fabsf(x);
  const f32 v = a > 10.0f ? 20.0f : __fadd_rn(a, a);  // 1 from there on
  const Nearest k = nearest(v, kOneOverLn2);
  const f32 power = power_of_two(k.integer);
  const f32 e = __fmaf_rn(expm1_polynomial(less_multiple_of_ln2(v, k.number)), power, __fsub_rn(power, 1.0f));
  return with_sign_of(a < 0x1p-12f ? a : ordinary_quotient(e, __fadd_rn(e, 2.0f)), x);
}

// The functions below are products with exp(v) for some v of at most 0, divided by 1 + exp(v) in the first three.
// They have no branches on x's sign, since threads of a warp would go both ways.

DIECAST_DEVICE f32 sigmoid(f32 x) {
  const bool below_0 = x < 0.0f;
  const f32 a = fabsf(x);
  const ExpParts t = exp_parts(a > 125.0f ? -125.0f : -a);
  const DownBy down(t.n);
  const f32 ratio = ordinary_quotient(below_0 ? t.p : 1.0f, down.of_plus(t.p, 1.0f));
  return below_0 ? down.of(ratio) : ratio;
}

// x * sigmoid(x); -0 for -infinity. The ratio is at most x above 0, and NaN where x is infinite.
DIECAST_DEVICE f32 silu(f32 x) {
  const bool below_0 = x < 0.0f;
  const f32 v = fmaxf(-fabsf(x), -125.0f);
  const ExpParts t = exp_parts(v);
  const DownBy down(t.n);
  const f32 ratio = ordinary_quotient(below_0 ? __fmul_rn(v, t.p) : x, down.of_plus(t.p, 1.0f));
  return below_0 ? down.of(ratio) : fminf(ratio, x);
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), which is x * sigmoid of twice that argument.
DIECAST_DEVICE f32 gelu_tanh(f32 x) {
  const bool below_0 = x < 0.0f;
  const f32 t = fminf(fabsf(x), 10.8f);  // -0 from there on, and x
  // The argument, v, in two floats: a part of it that is lost is multiplied by the argument.
  constexpr f32 kA = 0x1.988454p+0f, kALow = -0x1.857936p-25f, kB = 0x1.2444f2p-4f, kBLow = 0x1.49b16ap-29f;
  const f32 s = __fmul_rn(t, t), s_low = __fmaf_rn(t, t, -s);
  const f32 h = __fmul_rn(kB, s);
  const f32 h_low = __fmaf_rn(kB, s_low, __fmaf_rn(kBLow, s, __fmaf_rn(kB, s, -h)));
  const f32 w = __fadd_rn(kA, h), b = __fsub_rn(w, kA);
  const f32 w_error = __fadd_rn(__fsub_rn(kA, __fsub_rn(w, b)), __fsub_rn(h, b));
  const f32 w_low = __fadd_rn(w_error, __fadd_rn(h_low, kALow));
  const f32 v = __fmul_rn(-t, w), v_low = __fmaf_rn(-t, w_low, __fmaf_rn(-t, w, -v));
  const ExpParts of = exp_parts(v, v_low);
  const DownBy down(of.n);
  const f32 ratio = ordinary_quotient(below_0 ? __fmul_rn(-t, of.p) : x, down.of_plus(of.p, 1.0f));
  return below_0 ? down.of(ratio) : fminf(ratio, x);
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
// x times the normal distribution's share below x.
DIECAST_DEVICE f32 gelu(f32 x) {
  const f32 t = fminf(fabsf(x), 15.0f);  // -0 from there on, and x
  const f32 s = __fmul_rn(t, t), s_low = __fmaf_rn(t, t, -s);
  const f32 one = ordinary_quotient(1.0f, __fadd_rn(t, 4.0f)), z = __fmul_rn(__fsub_rn(t, 4.0f), one);
  const ExpParts of = exp_parts(__fmul_rn(s, -0.5f), __fmul_rn(s_low, -0.5f));
  const DownBy down(of.n);
  const f32 above = __fmul_rn(t, __fmul_rn(__fmul_rn(share_polynomial(z), one), of.p));
  return x < 0.0f ? down.of(-above) : down.of_plus(-above, x);
}

}  // namespace diecast::math
