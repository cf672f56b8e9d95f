// functions: what the functions of diecast/device/math make of the numbers with the bits first,
// first + step, ...; of two arguments under the exponents y. With SUM one sum of all results, whose
// exponents are drawn from the numbers' bits.
/* diecast
option   type  T        {f32, bf16, f16} = f32
option   bool  FAST     = false                          // a GPU's own approximations
option   bool  SUM      = false
size     count
arg      function u32                                    // its place in functions.h
arg      first    u32
arg      step     u32
arg      y        in  u32  [SUM ? 0 : count]             // bits of a T
arg      out      out u32  [SUM ? 0 : count]             // bits of a T
arg      sum    inout u64 [SUM]                         // the bits of each result times its place, modulo 2^64, are added
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

DIECAST_DEVICE u32 drawn(u32 bits) {
  bits = (bits ^ bits >> 16) * 0x7FEB352Du;
  return (bits ^ bits >> 15) * 0x846CA68Bu;
}

DIECAST_KERNEL {
  u64 of_thread = 0;
  for (i64 i = i64{blockIdx.x} * 256 + threadIdx.x; i < count; i += i64{gridDim.x} * 256) {
    const u32 bits = first + static_cast<u32>(i) * step;
    const T result = value(function, from_bits<T>(bits), from_bits<T>(SUM ? drawn(bits) : y[i]));
    if constexpr (!SUM) {
      out[i] = to_bits(result);
    } else {
      const f32 number = to_f32(result);
      const u32 word = number == number ? to_bits(result) : 0x7FFFFFFFu;  // any NaN is one
      of_thread += u64{word} * (static_cast<u64>(i) * 2 + 1);
    }
  }
  if constexpr (SUM) atomicAdd(&sum[0], of_thread);
}
