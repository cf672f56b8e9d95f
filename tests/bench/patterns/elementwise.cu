// elementwise: y = f(x) of bf16, by diecast/device/math, by CUDA's own function, or by the GPU's approximation. What
// `diecast-bench functions` compares.
/* diecast
option   enum  F        {exp, exp2, log, log2, sqrt, rsqrt, sin, cos, tanh, sigmoid, silu, gelu, gelu_tanh, pow}
option   enum  BY       {math, cuda, fast}
size     count
arg      x      in   bf16 [count]  align 16
arg      y      out  bf16 [count]  align 16
arg      count                                           // a multiple of 8
launch   grid(ceil_div(count, 256 * 8)) block(256)
target   sm_80+
exchange none
sample   count {0, 4096}
*/
#include <diecast/device/math/math.h>
#include <diecast/device/memory/vector.h>
#include <diecast/device/numbers/pairs.h>

#define EITHER(name, of_cuda)                \
  if constexpr (F == F_##name) {             \
    if constexpr (BY == BY_cuda) {           \
      return of_cuda;                        \
    } else if constexpr (BY == BY_fast) {    \
      return math::fast_##name(x);           \
    } else {                                 \
      return math::name(x);                  \
    }                                        \
  }

DIECAST_DEVICE f32 value(f32 x) {
  EITHER(exp, expf(x))
  EITHER(exp2, exp2f(x))
  EITHER(log, logf(x))
  EITHER(log2, log2f(x))
  EITHER(sqrt, sqrtf(x))
  EITHER(rsqrt, rsqrtf(x))
  EITHER(sin, sinf(x))
  EITHER(cos, cosf(x))
  EITHER(tanh, tanhf(x))
  EITHER(sigmoid, 1.0f / (1.0f + expf(-x)))
  EITHER(silu, x / (1.0f + expf(-x)))
  EITHER(gelu, 0.5f * x * (1.0f + erff(x * 0.70710678f)))
  EITHER(gelu_tanh, 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))))
  if constexpr (F == F_pow) {
    const f32 base = fabsf(x);
    return BY == BY_cuda ? powf(base, 1.7f) : BY == BY_fast ? math::fast_pow(base, 1.7f) : math::pow(base, 1.7f);
  }
  return x;
}

DIECAST_KERNEL {
  const i64 first = (i64{blockIdx.x} * 256 + threadIdx.x) * 8;
  if (first >= count) return;
  Vector<16> v = load_streaming<16>(x + first);
  DIECAST_UNROLL
  for (int i = 0; i < 4; ++i) {
    const f32 low = value(to_f32(from_bits<bf16>(v.words[i]))), high = value(to_f32(from_bits<bf16>(v.words[i] >> 16)));
    v.words[i] = pair_from_f32<bf16>(low, high);
  }
  store_streaming<16>(y + first, v);
}
