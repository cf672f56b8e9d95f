// Functions of a number: math::exp(x), math::silu(x) and so on, of f32, bf16 and f16 (these through
// f32). The same bits on the host and every GPU, but for which NaN a NaN is: only rounded operations
// are used. Each header says its errors, in units in the last place (ulp) of f32. fast.h has a GPU's
// own approximations.
//   exp exp2 log log2 sqrt rsqrt sin cos tanh sigmoid silu gelu gelu_tanh pow
//   floor ceil trunc rint round
#pragma once

#include <diecast/device/math/activations.h>
#include <diecast/device/math/exp.h>
#include <diecast/device/math/fast.h>
#include <diecast/device/math/log.h>
#include <diecast/device/math/pow.h>
#include <diecast/device/math/roots.h>
#include <diecast/device/math/trig.h>
#include <diecast/device/math/whole.h>

namespace diecast::math {

#define DIECAST_OF_ONE(name)             \
  template <class T>                     \
  DIECAST_DEVICE T name(T x) {           \
    return from_f32<T>(name(to_f32(x))); \
  }
#define DIECAST_OF_BOTH(name) DIECAST_OF_ONE(name) DIECAST_OF_ONE(fast_##name)
DIECAST_OF_BOTH(exp)
DIECAST_OF_BOTH(exp2)
DIECAST_OF_BOTH(log)
DIECAST_OF_BOTH(log2)
DIECAST_OF_BOTH(sqrt)
DIECAST_OF_BOTH(rsqrt)
DIECAST_OF_BOTH(sin)
DIECAST_OF_BOTH(cos)
DIECAST_OF_BOTH(tanh)
DIECAST_OF_BOTH(sigmoid)
DIECAST_OF_BOTH(silu)
DIECAST_OF_BOTH(gelu)
DIECAST_OF_BOTH(gelu_tanh)
DIECAST_OF_ONE(floor)
DIECAST_OF_ONE(ceil)
DIECAST_OF_ONE(trunc)
DIECAST_OF_ONE(rint)
DIECAST_OF_ONE(round)
#undef DIECAST_OF_BOTH
#undef DIECAST_OF_ONE

template <class T>
DIECAST_DEVICE T pow(T x, T y) {
  return from_f32<T>(pow(to_f32(x), to_f32(y)));
}
template <class T>
DIECAST_DEVICE T fast_pow(T x, T y) {
  return from_f32<T>(fast_pow(to_f32(x), to_f32(y)));
}

}  // namespace diecast::math
