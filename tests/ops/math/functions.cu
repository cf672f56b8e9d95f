// functions: what the functions of diecast/device/math make of the numbers with the bits first,
// first + step, ...; of two arguments under the exponents y.
/* diecast
option   type  T        {f32, bf16, f16} = f32
option   bool  FAST     = false                          // a GPU's own approximations
size     count
arg      function u32                                    // its place in functions.h
arg      first    u32
arg      step     u32
arg      y        in  u32  [count]                       // bits of a T
arg      out      out u32  [count]                       // bits of a T
arg      count
launch   grid(min(ceil_div(count, 256), sm_count * 32)) block(256)
target   host, sm_80+
exchange none
sample   count {256}
*/
#include <diecast/device/math/math.h>

#define DIECAST_EITHER(name) (FAST ? math::fast_##name(x) : math::name(x))
DIECAST_DEVICE T value(u32 function, T x, T y) {
  switch (function) {
    case 0: return DIECAST_EITHER(exp);
    case 1: return DIECAST_EITHER(exp2);
    case 2: return DIECAST_EITHER(log);
    case 3: return DIECAST_EITHER(log2);
    case 4: return DIECAST_EITHER(sqrt);
    case 5: return DIECAST_EITHER(rsqrt);
    case 6: return DIECAST_EITHER(sin);
    case 7: return DIECAST_EITHER(cos);
    case 8: return DIECAST_EITHER(tanh);
    case 9: return DIECAST_EITHER(sigmoid);
    case 10: return DIECAST_EITHER(silu);
    case 11: return DIECAST_EITHER(gelu);
    case 12: return DIECAST_EITHER(gelu_tanh);
    default: return FAST ? math::fast_pow(x, y) : math::pow(x, y);
  }
}

DIECAST_KERNEL {
  for (i64 i = i64{blockIdx.x} * 256 + threadIdx.x; i < count; i += i64{gridDim.x} * 256) {
    const u32 bits = first + static_cast<u32>(i) * step;
    out[i] = to_bits(value(function, from_bits<T>(bits), from_bits<T>(y[i])));
  }
}
