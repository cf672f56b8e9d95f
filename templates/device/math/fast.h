// fast_exp and so on: a GPU's own approximations, for results that need not be the same anywhere
// else. They differ between GPUs, and from the functions without `fast_`, which the host takes.
#pragma once

#include <diecast/device/math/activations.h>
#include <diecast/device/math/exp.h>
#include <diecast/device/math/log.h>
#include <diecast/device/math/pow.h>
#include <diecast/device/math/roots.h>
#include <diecast/device/math/trig.h>

namespace diecast::math {

#if DIECAST_HOST
DIECAST_DEVICE f32 fast_exp2(f32 x) { return exp2(x); }
DIECAST_DEVICE f32 fast_exp(f32 x) { return exp(x); }
DIECAST_DEVICE f32 fast_log2(f32 x) { return log2(x); }
DIECAST_DEVICE f32 fast_log(f32 x) { return log(x); }
DIECAST_DEVICE f32 fast_sin(f32 x) { return sin(x); }
DIECAST_DEVICE f32 fast_cos(f32 x) { return cos(x); }
DIECAST_DEVICE f32 fast_tanh(f32 x) { return tanh(x); }
DIECAST_DEVICE f32 fast_sqrt(f32 x) { return sqrt(x); }
DIECAST_DEVICE f32 fast_rsqrt(f32 x) { return rsqrt(x); }
DIECAST_DEVICE f32 fast_sigmoid(f32 x) { return sigmoid(x); }
DIECAST_DEVICE f32 fast_silu(f32 x) { return silu(x); }
DIECAST_DEVICE f32 fast_gelu(f32 x) { return gelu(x); }
DIECAST_DEVICE f32 fast_gelu_tanh(f32 x) { return gelu_tanh(x); }
DIECAST_DEVICE f32 fast_pow(f32 x, f32 y) { return pow(x, y); }
#else
#define DIECAST_APPROXIMATE(name, instruction)                 \
  DIECAST_DEVICE f32 name(f32 x) {                             \
    f32 y;                                                     \
    asm(instruction ".approx.f32 %0, %1;" : "=f"(y) : "f"(x)); \
    return y;                                                  \
  }
DIECAST_APPROXIMATE(fast_exp2, "ex2")
DIECAST_APPROXIMATE(fast_log2, "lg2")
DIECAST_APPROXIMATE(fast_sin, "sin")
DIECAST_APPROXIMATE(fast_cos, "cos")
DIECAST_APPROXIMATE(fast_tanh, "tanh")
DIECAST_APPROXIMATE(fast_sqrt, "sqrt")
DIECAST_APPROXIMATE(fast_rsqrt, "rsqrt")
DIECAST_APPROXIMATE(fast_reciprocal, "rcp")
#undef DIECAST_APPROXIMATE

DIECAST_DEVICE f32 fast_exp(f32 x) { return fast_exp2(__fmul_rn(x, kOneOverLn2)); }
DIECAST_DEVICE f32 fast_log(f32 x) { return __fmul_rn(fast_log2(x), 0x1.62e43p-1f); }
DIECAST_DEVICE f32 fast_sigmoid(f32 x) { return fast_reciprocal(__fadd_rn(1.0f, fast_exp(-x))); }
DIECAST_DEVICE f32 fast_silu(f32 x) { return __fmul_rn(x, fast_sigmoid(x)); }
DIECAST_DEVICE f32 fast_gelu_tanh(f32 x) {
  const f32 w = __fmaf_rn(__fmul_rn(x, x), 0x1.2444f2p-4f, 0x1.988454p+0f);
  return __fmul_rn(x, fast_sigmoid(__fmul_rn(x, w)));
}
// By a rational function of |x| times exp(-x^2 / 2), as gelu(), with this processor's quotient and exp.
DIECAST_DEVICE f32 fast_gelu(f32 x) {
  const f32 t = fabsf(x) > 15.0f ? 15.0f : fabsf(x);
  const f32 one = fast_reciprocal(__fadd_rn(t, 4.0f)), z = __fmul_rn(__fsub_rn(t, 4.0f), one);
  const f32 above = __fmul_rn(__fmul_rn(share_polynomial(z), one), fast_exp(__fmul_rn(__fmul_rn(t, t), -0.5f)));
  return x > 0.0f ? __fmaf_rn(-x, above, x) : __fmul_rn(x, above);
}
DIECAST_DEVICE f32 fast_pow(f32 x, f32 y) { return fast_exp2(__fmul_rn(y, fast_log2(x))); }
#endif

}  // namespace diecast::math
